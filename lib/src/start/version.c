#include <downbeat/clock.h>

const char *Downbeat_version(void) { return DB_VERSION; }
