/* A rank that is stopped for 5 ms, between the decision and the wait or during the wait, and one whose clock is set
 * back: its flag is 0, nothing hangs, and the slack comes back. */
#include "check_mpi.h"
#include "interruption.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOPPED_SECONDS 5e-3
/* As in slack_auto.c: a window of 512 lags, a new slack every 32 calls, from lags that are reported a call or two
 * later; and seconds above the lag that it is chosen for, with the rounding of a double. */
#define CALLS_TO_FORGET 560
#define SLACK_MARGIN 251e-9

static int to_stopper[2];

/* A process that stops its parent on request and lets it go on 5 ms later. */
static void run_stopper(void) {
    char request;
    close(to_stopper[1]);
    while (read(to_stopper[0], &request, 1) == 1) {
        kill(getppid(), SIGSTOP);
        pause_for(STOPPED_SECONDS);
        kill(getppid(), SIGCONT);
    }
    _exit(0);
}

/* Returns when this process has been stopped and goes on: its time has a gap. */
static void be_stopped(void) {
    double last = true_time(); /* first: the stopper may run as soon as it is asked */
    CHECK(write(to_stopper[1], "", 1) == 1);
    for (double begin = last; last - begin < 10.0;) {
        double next = true_time();
        if (next - last > 0.8 * STOPPED_SECONDS)
            return;
        last = next;
    }
    CHECK(!"stopped within 10 s");
}

int main(int argc, char **argv) {
    CHECK(pipe(to_stopper) == 0);
    pid_t stopper = fork(); /* before MPI_Init: no MPI library likes it later */
    CHECK(stopper >= 0);
    if (stopper == 0)
        run_stopper();
    close(to_stopper[0]);

    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    int rank;
    int size;
    int flag;
    MPIX_Harmonize_stats before;
    MPIX_Harmonize_stats after;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int victim = size - 1;

    /* Interruptions count messages: no clock synchronization in between. */
    OK(set_one(comm, "max_age", "1e6"));
    OK(set_one(comm, "max_error", "1e6"));
    OK(MPIX_Harmonize(comm, &flag));
    for (int i = 0; i < 50; ++i)
        OK(MPIX_Harmonize(comm, &flag));

    /* Before the wait, which cannot be long enough. */
    OK(set_one(comm, "slack", "1e-4"));
    for (int i = 0; i < 3; ++i) {
        OK(MPIX_Harmonize_get_stats(comm, &before));
        if (rank == victim)
            interrupt_before_wait(be_stopped);
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPIX_Harmonize_get_stats(comm, &after));
        if (rank == victim) {
            CHECK_THAT(after.lag, >=, 0.8 * STOPPED_SECONDS);
            CHECK(flag == 0);
        }
        OK(MPIX_Harmonize(comm, &flag));
        int verdict;
        OK(MPIX_Harmonize_verdict(comm, &verdict));
        CHECK_THAT(verdict, ==, 0);
        double late; /* it stood still for as long */
        OK(MPIX_Harmonize_lateness(comm, &late));
        CHECK_THAT(late, >=, 0.8 * STOPPED_SECONDS - 1e-4);
    }

    /* Slack follows, and comes back when the stops have left its window: it is not longer than what else has
     * interrupted a call since. */
    OK(set_one(comm, "slack", "auto"));
    for (int i = 0; i < 3; ++i) {
        OK(MPIX_Harmonize_get_stats(comm, &before));
        if (rank == victim)
            interrupt_before_wait(be_stopped);
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPIX_Harmonize_get_stats(comm, &after));
        if (rank == victim)
            CHECK(flag == 0 || after.slack >= after.lag); /* in time only if the slack had grown beyond the stop */
        OK(MPIX_Harmonize(comm, &flag));
    }
    double longest_lag = 0.0;
    for (int i = 0; i < CALLS_TO_FORGET; ++i) {
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPIX_Harmonize_get_stats(comm, &after));
        longest_lag = fmax(longest_lag, after.lag);
    }
    OK(MPI_Allreduce(MPI_IN_PLACE, &longest_lag, 1, MPI_DOUBLE, MPI_MAX, comm));
    CHECK_THAT(after.slack, <=, longest_lag + SLACK_MARGIN);

    /* During the wait, which ends 2 ms after the decision. If it takes longer than that until this rank knows of the
     * decision, it comes too late and there is no wait: try again. */
    OK(set_one(comm, "slack", "2e-3"));
    OK(set_one(comm, "clock", "wtime"));
    int covered = 0;
    for (int attempt = 0; attempt < 100 && !covered; ++attempt) {
        OK(MPIX_Harmonize_get_stats(comm, &before));
        if (rank == victim)
            interrupt_wait(be_stopped);
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPIX_Harmonize_get_stats(comm, &after));
        if (rank == victim) {
            CHECK(!interruption_due());
            CHECK_THAT(flag, ==, 0);
            covered = after.late_arrivals == before.late_arrivals;
            CHECK_THAT(after.late_exits - before.late_exits, ==, covered);
        }
        OK(MPI_Bcast(&covered, 1, MPI_INT, victim, comm));
    }
    CHECK(covered);

    /* A clock that is set back ends the wait before the deadline. A process that yields reads the clock more often
     * before it spins. */
    OK(set_one(comm, "slack", "5e-4"));
    int ended = before.oversubscribed;
    for (int attempt = 0; attempt < 100 && !ended; ++attempt) {
        if (rank == victim)
            set_back_in_wait(1.0);
        OK(MPIX_Harmonize_get_stats(comm, &before));
        OK(MPIX_Harmonize(comm, &flag));
        int set_back = !interruption_due(); /* statistics look at the clock, too */
        cancel_interruption();
        OK(MPIX_Harmonize_get_stats(comm, &after));
        if (rank == victim) {
            ended = set_back && after.late_arrivals == before.late_arrivals;
            CHECK(!ended || (flag == 0 && after.late_exits == before.late_exits + 1));
        }
        OK(MPI_Bcast(&ended, 1, MPI_INT, victim, comm));
    }
    CHECK(ended);

    OK(MPI_Comm_free(&comm));
    MPI_Finalize();
    close(to_stopper[1]);
    waitpid(stopper, NULL, 0);
    return 0;
}
