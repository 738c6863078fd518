/* Memory of a thread, freed when the thread ends; for caches. */
#ifndef DOWNBEAT_PRELOAD_THREAD_MEMORY_H
#define DOWNBEAT_PRELOAD_THREAD_MEMORY_H

#include <stddef.h>

/* Allocates `size` zeroed bytes for the calling thread and stores their address in the thread-local `pointer`; frees
 * them when the thread ends. Large thread-local variables would take their space from the thread's stack, which may be
 * small. Returns 0 if out of memory. */
int thread_memory(void **pointer, size_t size);

#endif
