/* State comes with the first call on a communicator and goes with the communicator. Leaks show in the sanitizer's
 * build, and here: MPI libraries have a few thousand communicators to give. */
#include "check_mpi.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static int broken; /* MPI has an error, and finds no attribute */

int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found) {
    return broken ? MPI_ERR_OTHER : PMPI_Comm_get_attr(comm, key, value, found);
}

/* Else the next one to be freed, or MPI_Finalize, would find what is gone. */
static void freed_whatever_fails(void) {
    MPI_Comm comms[3];
    int flag;
    for (int i = 0; i < 3; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        OK(MPIX_Harmonize(comms[i], &flag));
    }
    broken = 1;
    OK(MPI_Comm_free(&comms[1])); /* between two others */
    OK(MPI_Comm_free(&comms[2]));
    broken = 0;
    OK(MPIX_Harmonize(comms[0], &flag));
    OK(MPI_Comm_free(&comms[0]));
}

static void duplicates_begin_anew(void) {
    MPI_Comm first;
    MPI_Comm second;
    int flag;
    MPIX_Harmonize_stats stats;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
    OK(set_one(first, "slack", "1.2345679e-2")); /* which no lag will lead to */
    OK(MPIX_Harmonize(first, &flag));
    OK(MPI_Comm_dup(first, &second)); /* of a communicator that has a state */
    OK(MPIX_Harmonize(second, &flag));
    OK(MPIX_Harmonize_get_stats(second, &stats));
    CHECK_THAT(stats.calls, ==, 1);
    CHECK_THAT(fabs(stats.slack - 1.2345679e-2), >, 1e-12);
    OK(MPI_Comm_free(&first));
    OK(MPIX_Harmonize(second, &flag)); /* the other one's end is not its own */
    OK(MPIX_Harmonize_get_stats(second, &stats));
    CHECK_THAT(stats.calls, ==, 2);
    OK(MPI_Comm_free(&second));
}

static void many(int count) {
    for (int i = 0; i < count; ++i) {
        MPI_Comm comm;
        int flag;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPI_Comm_free(&comm));
    }
}

static void alone(void) {
    int flag;
    double bound;
    for (int i = 0; i < 10; ++i)
        OK(MPIX_Harmonize(MPI_COMM_SELF, &flag));
    OK(MPIX_Harmonize_error_bound(MPI_COMM_SELF, &bound));
    CHECK_THAT(bound, ==, 0.0);
}

/* MPI_Finalize must do. Open MPI itself then leaks the communicator: tests/lsan.supp names this function. */
static void leave_a_communicator(void) {
    MPI_Comm comm;
    int flag;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPIX_Harmonize(comm, &flag));
}

#define NO_FILE "test_lifecycle.json"

/* lifecycle COUNT */
int main(int argc, char **argv) {
    int flag;
    remove(NO_FILE);
    setenv("DOWNBEAT_REGIONS", NO_FILE, 1);
    MPI_Init(&argc, &argv);
    leave_a_communicator();
    OK(MPIX_Harmonize(MPI_COMM_WORLD, &flag));
    duplicates_begin_anew();
    freed_whatever_fails();
    alone();
    setenv("DOWNBEAT_CLOCK", "monotonic", 1); /* opened in no time, unlike the TSC */
    many(argc > 1 ? atoi(argv[1]) : 1);
    MPI_Finalize();
    CHECK(access(NO_FILE, F_OK) != 0); /* without a region there is none */
    return 0;
}
