/* Which clock MPI_Wtime reads: in this program each clock of the system has a rate of its own. Each rank prints the
 * rate of MPI_Wtime, and MPI_Wtime less the realtime clock and less the monotonic clock, s. */
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const double rates[] = {[CLOCK_REALTIME] = 0.02, [CLOCK_MONOTONIC] = 0.05, [CLOCK_MONOTONIC_RAW] = 0.1};
enum { clocks = sizeof rates / sizeof *rates };
static double first[clocks];

static double true_time(clockid_t id) {
    struct timespec now;
    syscall(SYS_clock_gettime, id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* In place of the C library's, for the MPI library, too. */
int clock_gettime(clockid_t id, struct timespec *now) {
    if (syscall(SYS_clock_gettime, id, now) != 0)
        return -1;
    if (id >= 0 && id < clocks && rates[id] > 0) {
        const double time = (double)now->tv_sec + 1e-9 * (double)now->tv_nsec;
        first[id] = first[id] > 0 ? first[id] : time;
        const long more = now->tv_nsec + (long)(1e9 * rates[id] * (time - first[id]));
        now->tv_sec += more / 1000000000;
        now->tv_nsec = more % 1000000000;
    }
    return 0;
}

static double shown(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* MPI_Wtime less a clock, s: of the pair that took least. */
static double less(clockid_t id) {
    double shortest = 1e9, found = 0;
    for (int i = 0; i < 50; ++i) {
        const double before = shown(id), wtime = MPI_Wtime(), took = shown(id) - before;
        if (took < shortest) {
            shortest = took;
            found = wtime - before;
        }
    }
    return found;
}

int main(int argc, char **argv) {
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        usleep(20000); /* an origin that is the first call is another one */
    const double begin = true_time(CLOCK_MONOTONIC), wtime = MPI_Wtime();
    usleep(400000);
    const double rate = (MPI_Wtime() - wtime) / (true_time(CLOCK_MONOTONIC) - begin);
    printf("%d %.6f %.6f %.6f\n", rank, rate, less(CLOCK_REALTIME), less(CLOCK_MONOTONIC));
    MPI_Finalize();
    return 0;
}
