/* State comes with the first call on a communicator and goes with the communicator. Leaks show in the sanitizer's
 * build, and here: MPI libraries have a few thousand communicators to give. */
#include "check_mpi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* lifecycle COUNT */
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int flag;
    leave_a_communicator();
    OK(MPIX_Harmonize(MPI_COMM_WORLD, &flag));
    duplicates_begin_anew();
    alone();
    setenv("DOWNBEAT_CLOCK", "monotonic", 1); /* opened in no time, unlike the TSC */
    many(argc > 1 ? atoi(argv[1]) : 1);
    MPI_Finalize();
    return 0;
}
