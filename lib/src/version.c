#include "mpix_harmonize.h"

const char *Downbeat_version(void) { return DB_VERSION; }
