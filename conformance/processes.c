/* Processes of a node: a processor for each, and a helper that stops one with SIGSTOP, as a kernel does that needs the
 * processor for something else. */
#define _GNU_SOURCE
#include "conformance.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A processor for each process, where there are enough and the launcher has bound nothing: processes that wait for
 * processors are late whatever an implementation does. */
void bind_processes(const struct run *run) {
#ifdef __linux__
    cpu_set_t allowed;
    cpu_set_t one;
    int rank;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    MPI_Comm_rank(run->node, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_MIN, run->node);
    if (run->node_size < 2 || count < run->node_size)
        return;
    CPU_ZERO(&one);
    size_t cpu = 0;
    for (int passed = 0; passed <= rank; ++cpu)
        if (CPU_ISSET(cpu, &allowed) && passed++ == rank)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
#else
    (void)run;
#endif
}

struct request {
    double within;
    double duration;
};

static pid_t helper = -1;
static int requests[2] = {-1, -1};
static int answers[2] = {-1, -1};
static int pending;

static void run_helper(void) {
    struct request request;
    close(requests[1]);
    close(answers[0]);
    srand((unsigned)getpid());
    while (read(requests[0], &request, sizeof request) == (ssize_t)sizeof request) {
        pause_for(request.within * rand() / RAND_MAX);
        kill(getppid(), SIGSTOP);
        pause_for(request.duration);
        kill(getppid(), SIGCONT);
        if (write(answers[1], "", 1) != 1)
            break;
    }
    _exit(0);
}

void stopper_start(void) {
    if (pipe(requests) != 0 || pipe(answers) != 0)
        return;
    /* Processes that MPI starts, e.g. Open MPI's daemon if there is no mpirun, must not keep them open. */
    for (int end = 0; end < 2; ++end) {
        fcntl(requests[end], F_SETFD, FD_CLOEXEC);
        fcntl(answers[end], F_SETFD, FD_CLOEXEC);
    }
    helper = fork();
    if (helper == 0)
        run_helper();
    close(requests[0]);
    close(answers[1]);
    fcntl(answers[0], F_SETFL, O_NONBLOCK);
}

void stopper_ask(double within, double duration) {
    const struct request request = {within, duration};
    int sent = helper > 0 && write(requests[1], &request, sizeof request) == (ssize_t)sizeof request;
    expect(sent, "the process that stops this one is gone");
    pending += sent;
}

int stopper_idle(void) {
    char answer;
    while (pending > 0 && read(answers[0], &answer, 1) == 1)
        --pending;
    return pending == 0;
}

void stopper_end(void) {
    if (helper <= 0)
        return;
    close(requests[1]);
    waitpid(helper, NULL, 0);
}
