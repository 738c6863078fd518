/* Memory that a thread has until it ends: programs may start and end threads for years. */
#include "thread_memory.h"

#include "sharing.h"

#include <pthread.h>
#include <stdlib.h>

struct block {
    struct block *next;
    void **pointer;
    max_align_t memory[];
};

static pthread_key_t blocks;
static pthread_once_t blocks_made = PTHREAD_ONCE_INIT;
static int blocks_known;

/* MPI may be called after it, by what else ends with the thread: then the thread gets memory again. */
static void end_thread(void *first) {
    for (struct block *block = first, *next; block != NULL; block = next) {
        next = block->next;
        *block->pointer = NULL;
        free(block);
    }
}

static void make_key(void) { blocks_known = pthread_key_create(&blocks, end_thread) == 0; }

int thread_memory(void **pointer, size_t size) {
    pthread_once(&blocks_made, make_key);
    struct block *block = blocks_known ? calloc(1, sizeof *block + size) : NULL;
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
