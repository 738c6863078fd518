/* Communicators are independent: a subset may call while the rest does something else, and calls on two communicators
 * may interleave. */
#include "check_mpi.h"

#include <math.h>

static int rank;
static int size;

/* The even ranks harmonize; the odd ones pass a message around and never call. */
static void subset_while_others_work(void) {
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part));
    if (rank % 2 == 0) {
        for (int i = 0; i < 5; ++i) {
            int flag = -1;
            OK(MPIX_Harmonize(part, &flag));
            CHECK(flag == 0 || flag == 1);
        }
    } else {
        int part_rank;
        int part_size;
        int token = 0;
        MPI_Comm_rank(part, &part_rank);
        MPI_Comm_size(part, &part_size);
        if (part_size > 1) {
            OK(MPI_Sendrecv_replace(&token, 1, MPI_INT, (part_rank + 1) % part_size, 0,
                                    (part_rank + part_size - 1) % part_size, 0, part, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_Comm_free(&part));
}

/* Two communicators with the same processes, in opposite order, alternately; the settings of one are not the other's.
 */
static void two_interleaved(void) {
    MPI_Comm forward;
    MPI_Comm backward;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &forward));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backward));
    OK(set_one(backward, "slack", "1.2345679e-2")); /* which no lag will lead to */
    for (int i = 0; i < 5; ++i) {
        int flag;
        double deadlines[2];
        OK(MPIX_Harmonize(forward, &flag));
        OK(MPIX_Harmonize(backward, &flag));
        OK(MPIX_Harmonize_deadline(backward, &deadlines[0]));
        OK(MPIX_Harmonize(forward, &flag));
        OK(MPIX_Harmonize_deadline(backward, &deadlines[1]));
        CHECK_THAT(deadlines[0], ==, deadlines[1]);
    }
    MPIX_Harmonize_stats stats[2];
    OK(MPIX_Harmonize_get_stats(forward, &stats[0]));
    OK(MPIX_Harmonize_get_stats(backward, &stats[1]));
    CHECK_THAT(stats[0].calls, ==, 10);
    CHECK_THAT(stats[1].calls, ==, 5);
    CHECK_THAT(fabs(stats[1].slack - 1.2345679e-2), <, 1e-12); /* whole ns, times 1e-9 */
    CHECK_THAT(fabs(stats[0].slack - 1.2345679e-2), >, 1e-12);
    OK(MPI_Comm_free(&forward));
    OK(MPI_Comm_free(&backward));
}

/* Messages of the application are left alone: a receive from anyone with any tag, posted before, gets its own. */
static void private_traffic(void) {
    int received = -1;
    int flag;
    MPI_Request request;
    OK(MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    OK(MPIX_Harmonize(MPI_COMM_WORLD, &flag));
    OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_THAT(received, ==, (rank + size - 1) % size);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    subset_while_others_work();
    two_interleaved();
    private_traffic();
    MPI_Finalize(); /* the state of MPI_COMM_WORLD goes with it */
    return 0;
}
