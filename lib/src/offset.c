#include "offset.h"

#include <stddef.h>

const void *const db_offset_types[] = {&db_offset_skampi, NULL};
