/* Memory that a thread has until it ends. */
#ifndef DOWNBEAT_PRELOAD_THREAD_MEMORY_H
#define DOWNBEAT_PRELOAD_THREAD_MEMORY_H

#include <stddef.h>

/* Gives this thread `size` bytes of zeros, at a pointer of its own, until it ends: what is per thread in place comes
 * out of its stack, which may be small. Returns 0 if there are none. */
int thread_memory(void **pointer, size_t size);

#endif
