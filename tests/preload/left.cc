// left HOW: calls that fail, and are left by HOW their error handler leaves them: throw, jump (longjmp) or signal
// (siglongjmp out of a signal's handler); from a shallow frame, and from a deep one. After each there are collectives,
// from frames deeper in the stack than the call that was left, and shallower. Prints how many collectives completed.
#include <mpi.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {

const char *how = "";
std::jmp_buf back;
sigjmp_buf back_from_signal;
int rank;
int lefts;
int allreduces;
int barriers;

void on_signal(int /*number*/) { siglongjmp(back_from_signal, 1); }

void leave(MPI_Comm * /*comm*/, int * /*code*/, ...) {
    if (std::strcmp(how, "throw") == 0)
        throw std::runtime_error("left");
    if (std::strcmp(how, "jump") == 0)
        std::longjmp(back, 1);
    std::raise(SIGUSR1);
}

template <typename Call> bool jumps_out_of(Call call) {
    if (std::strcmp(how, "jump") == 0) {
        if (setjmp(back) != 0)
            return true;
    } else if (sigsetjmp(back_from_signal, 1) != 0) {
        return true;
    }
    call();
    return false;
}

template <typename Call> void left(Call call) {
    if (std::strcmp(how, "throw") == 0) {
        try {
            call();
        } catch (const std::runtime_error &) {
            ++lefts;
        }
    } else if (jumps_out_of(call)) {
        ++lefts;
    }
}

void complete(int calls) {
    for (int i = 0; i < calls; ++i) {
        int value = 1;
        int sum = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        barriers += 1;
        allreduces += sum == 2;
    }
}

// Leaves the frames that were left as they are, in the middle of its own.
__attribute__((noinline)) void complete_below(int calls) {
    volatile char room[1 << 16];
    room[0] = 0;
    complete(calls);
    room[sizeof room - 1] = room[0];
}

template <typename Call> __attribute__((noinline)) void left_below(Call call) {
    volatile char room[1 << 14];
    room[0] = 0;
    left(call);
    room[sizeof room - 1] = room[0];
}

template <typename Call> void try_call(Call call) {
    left(call);
    complete_below(7);
    complete(3);
    left_below(call);
    complete(5);
    complete_below(2);
}

// A message that is too long for its receiver, beside a barrier that completes.
void wait_for_both() {
    int values[2] = {0, 0};
    MPI_Request requests[2];
    if (rank == 0)
        MPI_Irecv(values, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[1]);
    else
        MPI_Isend(values, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    left([&] { MPI_Wait(&requests[1], MPI_STATUS_IGNORE); });
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Errhandler handler;
    int value = 1;
    MPI_Request request;
    MPI_Comm comm;
    how = argc > 1 ? argv[1] : "throw";
    std::signal(SIGUSR1, on_signal);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    complete(10);
    try_call([&] { MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); });
    try_call([&] { MPI_Bcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD); });
    try_call([&] { MPI_Ibcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD, &request); });
    try_call([&] { MPI_Comm_split(MPI_COMM_WORLD, -7, 0, &comm); });
    for (int i = 0; i < 3; ++i) {
        wait_for_both();
        complete_below(4);
    }
    std::printf("rank %d: %d left, %d allreduces, %d barriers\n", rank, lefts, allreduces, barriers);
    std::fflush(stdout);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
