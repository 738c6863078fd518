/* State comes with the first call on a communicator and goes with it. Communicators are independent, in threads, too.
 * What any MPIX_Harmonize must do is checked in conformance/: groups, messages, and that nothing leaks. */
#include "check_mpi.h"

#include <math.h>
#include <pthread.h>

#define ODD_SLACK 1.2345679e-2 /* s; no lag leads to it */
#define THREADS 3
#define CALLS 20

static int rank;
static int size;
static int broken; /* MPI has an error, and finds no attribute */

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found) {
    return broken ? MPI_ERR_OTHER : PMPI_Comm_get_attr(comm, key, value, found);
}

static MPI_Comm duplicate(MPI_Comm comm) {
    MPI_Comm made;
    OK(MPI_Comm_dup(comm, &made));
    return made;
}

static int has_odd_slack(MPI_Comm comm) { return fabs(stats_of(comm).slack - ODD_SLACK) < 1e-12; } /* whole ns */

/* Otherwise the next one to be freed, or MPI_Finalize, would use freed memory. */
static void freed_whatever_fails(void) {
    MPI_Comm comms[3];
    for (int i = 0; i < 3; ++i) {
        comms[i] = duplicate(MPI_COMM_WORLD);
        harmonize(comms[i]);
    }
    broken = 1;
    OK(MPI_Comm_free(&comms[1])); /* between two others */
    OK(MPI_Comm_free(&comms[2]));
    broken = 0;
    harmonize(comms[0]);
    OK(MPI_Comm_free(&comms[0]));
}

static void duplicates_begin_anew(void) {
    MPI_Comm first = duplicate(MPI_COMM_WORLD);
    OK(set_one(first, "slack", "1.2345679e-2"));
    harmonize(first);
    MPI_Comm second = duplicate(first); /* of a communicator that has a state */
    harmonize(second);
    CHECK_THAT(stats_of(second).calls, ==, 1);
    CHECK(!has_odd_slack(second));
    OK(MPI_Comm_free(&first));
    harmonize(second); /* the other one's end is not its own */
    CHECK_THAT(stats_of(second).calls, ==, 2);
    OK(MPI_Comm_free(&second));
}

static void alone(void) {
    for (int i = 0; i < 10; ++i)
        harmonize(MPI_COMM_SELF);
    CHECK_THAT(bound_of(MPI_COMM_SELF), ==, 0.0);
}

/* Two communicators with the same processes, in opposite order, alternately; each has its own settings. */
static void two_interleaved(void) {
    MPI_Comm forward = duplicate(MPI_COMM_WORLD);
    MPI_Comm backward;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backward));
    OK(set_one(backward, "slack", "1.2345679e-2"));
    for (int i = 0; i < 5; ++i) {
        harmonize(forward);
        harmonize(backward);
        double deadline = deadline_of(backward);
        harmonize(forward);
        CHECK_THAT(deadline_of(backward), ==, deadline);
    }
    CHECK_THAT(stats_of(forward).calls, ==, 10);
    CHECK_THAT(stats_of(backward).calls, ==, 5);
    CHECK(has_odd_slack(backward) && !has_odd_slack(forward));
    OK(MPI_Comm_free(&forward));
    OK(MPI_Comm_free(&backward));
}

static void *run_thread(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    double last = -1.0;
    for (int i = 0; i < CALLS; ++i) {
        harmonize(comm);
        CHECK_THAT(deadline_of(comm), >, last);
        last = deadline_of(comm);
    }
    CHECK_THAT(stats_of(comm).calls, ==, CALLS);
    return NULL;
}

static void one_per_thread(void) {
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        comms[i] = duplicate(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_create(&threads[i], NULL, run_thread, &comms[i]) == 0);
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; ++i)
        OK(MPI_Comm_free(&comms[i]));
}

/* Harmonized by callbacks. */
static MPI_Comm other;
static int called;

static void harmonize_other(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    ++called;
    harmonize(other);
}

static int harmonize_at_the_end(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    ++called;
    harmonize(other);
    return MPI_SUCCESS;
}

static void in_callbacks(void) {
    MPI_Errhandler errors;
    int key;
    int flag;
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);
    other = duplicate(MPI_COMM_WORLD);
    called = 0;
    OK(MPI_Comm_create_errhandler(harmonize_other, &errors));
    OK(MPI_Comm_set_errhandler(comm, errors));
    CHECK(MPIX_Harmonize_delayed(comm, -1.0, &flag) != MPI_SUCCESS);
    harmonize(comm);
    OK(MPI_Errhandler_free(&errors));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, harmonize_at_the_end, &key, NULL));
    for (int state = 0; state < 2; ++state) {
        if (state)
            comm = duplicate(MPI_COMM_WORLD); /* without a state of its own */
        OK(MPI_Comm_set_attr(comm, key, &called));
        OK(MPI_Comm_free(&comm));
    }
    CHECK_THAT(called, ==, 3);
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_free(&other));
}

/* For MPI_Finalize to clean up. Open MPI itself then leaks the communicator: tests/lsan.supp names this function. */
static void leave_a_communicator(void) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    harmonize(comm);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK_THAT(provided, ==, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leave_a_communicator();
    duplicates_begin_anew();
    freed_whatever_fails();
    alone();
    two_interleaved();
    one_per_thread();
    in_callbacks();
    MPI_Finalize(); /* the state of MPI_COMM_WORLD goes with it */
    return 0;
}
