/* A helper process that stops its parent with SIGSTOP, as a kernel does that needs the processor for something else. */
#define _POSIX_C_SOURCE 200809L
#include "conformance.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

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
