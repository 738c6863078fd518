/* Memory of threads (thread_memory.h), freed when they end, since programs may start and end threads for years. A
 * thread's blocks are a list, the value of a pthread key. */
#include "thread_memory.h"

#include "sharing.h"

#include <pthread.h>
#include <stdlib.h>

/* Memory of a thread, in the list of its blocks. */
struct block {
    struct block *next;
    void **pointer; /* the thread-local pointer to `memory` */
    max_align_t memory[];
};

static pthread_key_t blocks;
static pthread_once_t blocks_once = PTHREAD_ONCE_INIT;
static int has_key;

/* Other destructors of the thread may call MPI afterwards; then memory is allocated again. */
static void end_thread(void *first) {
    for (struct block *block = first, *next; block != NULL; block = next) {
        next = block->next;
        *block->pointer = NULL;
        free(block);
    }
}

static void make_key(void) { has_key = pthread_key_create(&blocks, end_thread) == 0; }

int thread_memory(void **pointer, size_t size) {
    pthread_once(&blocks_once, make_key);
    struct block *block = has_key ? calloc(1, sizeof *block + size) : NULL;
    if (block == NULL)
        return 0;
    *block = (struct block){pthread_getspecific(blocks), pointer};
    if (pthread_setspecific(blocks, block) != 0) {
        free(block);
        return 0;
    }
    *pointer = block->memory;
    return 1;
}
