/* MPI_THREAD_MULTIPLE: a thread per communicator, all calling at once. */
#include "conformance.h"

#include <pthread.h>

enum { THREADS = 3, CALLS = 10 };

static void *call_often(void *comm) {
    static const char *const call = "the call in one of several threads";
    for (int i = 0; i < CALLS; ++i) {
        int flag;
        int code = HARMONIZE(*(MPI_Comm *)comm, &flag);
        if (code != MPI_SUCCESS)
            expect_success(code, call);
    }
    return NULL;
}

static int possible(const struct run *run) {
    if (!run->thread_multiple)
        skip("MPI does not give MPI_THREAD_MULTIPLE");
    return run->thread_multiple;
}

static void several(const struct run *run) {
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    if (!possible(run))
        return;
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, call_often, &comms[i]);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comms[i]);
}

static void *call_once(void *comm) {
    int flag;
    int code = HARMONIZE(*(MPI_Comm *)comm, &flag);
    if (code != MPI_SUCCESS)
        expect_success(code, "the call in another thread");
    return NULL;
}

/* Process 0 waits in the first communicator, and only its second thread can end that: the others enter the first
 * communicator after they have left the second. One lock for all communicators deadlocks here. */
static void crossed(const struct run *run) {
    MPI_Comm first;
    MPI_Comm second;
    pthread_t thread;
    int flag;
    if (!possible(run))
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    /* First calls may duplicate the communicator, and some MPI libraries make one communicator after another. */
    OK(HARMONIZE(first, &flag));
    OK(HARMONIZE(second, &flag));
    for (int i = 0; i < 3; ++i) {
        if (run->rank == 0) {
            pthread_create(&thread, NULL, call_once, &first);
            pause_for(10e-3); /* it waits there by now */
            OK(HARMONIZE(second, &flag));
            pthread_join(thread, NULL);
        } else {
            OK(HARMONIZE(second, &flag));
            OK(HARMONIZE(first, &flag));
        }
    }
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}

const struct check checks_of_threads[] = {
    {"threads", "threads may call at once, each on its own communicator", several},
    {"crossed", "a thread that waits in one communicator does not block another one", crossed},
    {0},
};
