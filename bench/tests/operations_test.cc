// Operations' verdicts on their results, where the MPI library's faults are planted, and of their times, where those
// are known.
#include "operations/operation.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "text/words.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

extern bool no_barrier; // synchronizers_test.cc: MPI_Barrier returns at once

namespace {

/// Called after the library's call number `number`, from 0, with the bytes of each buffer.
using Fault = std::function<void(int number, std::byte *send, std::byte *receive, std::size_t bytes)>;
Fault fault;
int calls = 0;

void plant(const void *send, void *receive, int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    if (fault) {
        fault(calls, static_cast<std::byte *>(const_cast<void *>(send)), static_cast<std::byte *>(receive),
              static_cast<std::size_t>(count) * static_cast<std::size_t>(size));
    }
    ++calls;
}

} // namespace

// Between the operations and MPI.
int MPI_Scan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int code = PMPI_Scan(send, receive, count, type, op, comm);
    plant(send, receive, count, type);
    return code;
}

int MPI_Scatter(const void *send, int count, MPI_Datatype type, void *receive, int receives, MPI_Datatype received,
                int root, MPI_Comm comm) {
    const int code = PMPI_Scatter(send, count, type, receive, receives, received, root, comm);
    plant(send, receive, receives, received);
    return code;
}

int MPI_Allgatherv(const void *send, int count, MPI_Datatype type, void *receive, const int *counts, const int *places,
                   MPI_Datatype received, MPI_Comm comm) {
    const int code = PMPI_Allgatherv(send, count, type, receive, counts, places, received, comm);
    int ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    plant(send, receive, std::accumulate(counts, counts + ranks, 0), received);
    return code;
}

int MPI_Reduce_scatter(const void *send, void *receive, const int *counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
    const int code = PMPI_Reduce_scatter(send, receive, counts, type, op, comm);
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    plant(send, receive, counts[rank], type);
    return code;
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    const int code = PMPI_Recv(buffer, count, type, source, tag, comm, status);
    plant(nullptr, buffer, count, type);
    return code;
}

namespace bench {
namespace {

std::unique_ptr<Operation> make(const Communicator &comm, const std::string &text, std::uint64_t size) {
    const Component component = parse_component("operation", text, all_operations());
    return find_by_name(all_operations(), component.name()).make({comm.handle(), size, component});
}

Validation validate(Operation &operation, const Fault &planted) {
    calls = 0;
    fault = planted;
    const Validation found = operation.validate().value();
    fault = nullptr;
    return found;
}

void flip(std::byte &byte) { byte ^= std::byte{1}; }

struct Planted {
    const char *what;
    Fault fault;
    long wrong; // calls
    const char *error;
};

// Whatever one call leaves wrong on a rank is wrong on that rank, and nowhere else.
TEST(Operations, FindWhatACallLeavesWrong) {
    const Communicator comm;
    const int last = comm.size() - 1;
    const std::vector<Planted> faults = {
        {"none", [](int, std::byte *, std::byte *, std::size_t) {}, 0, ""},
        {"first byte received", [](int, std::byte *, std::byte *receive, std::size_t) { flip(receive[0]); }, 2,
         "element 0 is "},
        {"last element received",
         [](int, std::byte *, std::byte *receive, std::size_t bytes) { flip(receive[bytes - 8]); }, 2, "element 4 is "},
        {"first byte sent", [](int, std::byte *send, std::byte *, std::size_t) { flip(send[0]); }, 2,
         "the send buffer has changed: element 0 is "},
        {"last element sent", [](int, std::byte *send, std::byte *, std::size_t bytes) { flip(send[bytes - 8]); }, 2,
         "the send buffer has changed: element 4 is "},
        {"overwritten by what was received",
         [](int, std::byte *send, std::byte *receive, std::size_t bytes) { std::memcpy(send, receive, bytes); }, 2,
         "the send buffer has changed: element 0 is "},
        {"nothing received but what was sent",
         [](int, std::byte *send, std::byte *receive, std::size_t bytes) { std::memcpy(receive, send, bytes); }, 2,
         "element 0 is "},
        {"the second call alone",
         [](int number, std::byte *, std::byte *receive, std::size_t) {
             if (number == 1) {
                 flip(receive[8]);
             }
         },
         1, "element 1 is "},
    };
    for (const Planted &one : faults) {
        // Two calls: a rotating root that a scan has not; buffers that rotate are more.
        const auto operation = make(comm, "scan(type=int64,op=sum)", 40);
        const bool here = comm.rank() == last;
        Validation found;
        for (int number = 0; number < 2; ++number) {
            const Validation call = validate(*operation, [&](int, auto *send, auto *receive, std::size_t bytes) {
                if (here) {
                    one.fault(number, send, receive, bytes);
                }
            });
            found.calls += call.calls;
            found.wrong += call.wrong;
            found.error = found.error.empty() ? call.error : found.error;
        }
        EXPECT_EQ(found.calls, 2) << one.what;
        EXPECT_EQ(found.wrong, here ? one.wrong : 0) << one.what;
        EXPECT_EQ(found.error.rfind(here ? one.error : "", 0), 0U) << one.what << ": " << found.error;
    }
}

// With every root once, and with every set of buffers up to a number; whatever the calls before left.
TEST(Operations, CheckACallWithEachOfTheirArguments) {
    const Communicator comm;
    const auto rooted = make(comm, "scatter(root=rotating,type=int64)", 40);
    for (int root = 0; root < comm.size(); ++root) {
        const auto wrong = [&](int number, std::byte *, std::byte *receive, std::size_t) {
            if (number == root) {
                flip(receive[8]);
            }
        };
        const Validation found = validate(*rooted, wrong);
        EXPECT_EQ(found.calls, comm.size());
        EXPECT_EQ(found.wrong, 1);
        EXPECT_EQ(found.error.rfind("element 1 is ", 0), 0U);
        rooted->run(); // the next validation begins at the first root all the same
    }
    const auto rotated = make(comm, "scan(buffers=rotated,type=int64)", 8);
    const Validation found = validate(*rotated, [](int number, std::byte *, std::byte *receive, std::size_t) {
        if (number % 3 == 1) {
            flip(receive[0]);
        }
    });
    EXPECT_EQ(found.calls, 64);
    EXPECT_EQ(found.wrong, 21);
}

// Every element that a rank receives is checked, whichever rank it comes from.
TEST(Operations, CheckEveryElement) {
    const Communicator comm;
    for (const char *const text : {"allgatherv(type=int64,counts=rising)", "reduce_scatter(type=int64,counts=rising)",
                                   "scan(type=int64,in_place=yes)", "scatter(type=int64,root=0)"}) {
        const auto operation = make(comm, text, 72);
        std::size_t size = 0;
        EXPECT_EQ(validate(*operation, [&](int, auto *, auto *, std::size_t bytes) { size = bytes; }).wrong, 0) << text;
        std::size_t most = size;
        MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, comm.handle());
        EXPECT_GT(size, 0U);
        for (std::size_t byte = 0; byte < most; byte += 8) {
            const auto one = [&](int, std::byte *, std::byte *receive, std::size_t bytes) {
                if (byte < bytes) {
                    flip(receive[byte]);
                }
            };
            EXPECT_EQ(validate(*operation, one).wrong, byte < size ? 1 : 0) << text << ", byte " << byte;
        }
    }
}

// A collective is expected to do what the library does, on 2 ranks; `make validate` has more.
TEST(Operations, ExpectWhatTheLibraryDoes) {
    const Communicator comm;
    int right = 0;
    for (const OperationInfo &info : all_operations()) {
        if (info.collective.empty() || !info.unavailable.empty()) {
            continue;
        }
        std::vector<std::string> chosen;
        for (const auto &[parameter, value] : {std::pair("type", "int64"), std::pair("op", "user_ordered"),
                                               std::pair("counts", "rising"), std::pair("root", "rotating")}) {
            if (std::ranges::any_of(info.parameters, [&](const auto &one) { return one.name == parameter; })) {
                chosen.push_back(fmt::format("{}={}", parameter, value));
            }
        }
        const std::string text = chosen.empty() ? info.name : fmt::format("{}({})", info.name, join(chosen, ","));
        try {
            info.limits(parse_component("operation", text, all_operations()), comm.size());
        } catch (const Error &) {
            continue; // known to be wrong in this library
        }
        const std::uint64_t size = info.sized() ? 8 * 13 * 1024 : 0; // more than a page, on which a buffer may end
        const Validation found = make(comm, text, size)->validate().value();
        EXPECT_GT(found.calls, 0) << text;
        EXPECT_EQ(found.wrong, 0) << text << ": " << found.error;
        right += found.wrong == 0 ? 1 : 0;
    }
    EXPECT_GT(right, 30);
}

// In place, where the result of a call is the input of the next, contents neither grow nor wear off.
TEST(Operations, InPlaceLeaveWhatTheyFind) {
    const Communicator comm;
    const auto operation = make(comm, "scan(in_place=yes,type=int64)", 40);
    const auto nothing = [](int, std::byte *, std::byte *receive, std::size_t bytes) {
        EXPECT_TRUE(std::all_of(receive, receive + bytes, [](std::byte byte) { return byte == std::byte{0}; }));
    };
    EXPECT_EQ(validate(*operation, nullptr).wrong, 0);
    fault = nothing;
    operation->repeat(3);
    fault = nullptr;
    EXPECT_EQ(validate(*operation, [](int, std::byte *, std::byte *receive, std::size_t) { flip(receive[0]); }).wrong,
              1);
}

TEST(PingPong, IsTimedAndCheckedOnItsRanks) {
    const Communicator comm;
    ASSERT_GE(comm.size(), 2);
    const auto operation = make(comm, "ping_pong(first=1,second=0)", 5);
    EXPECT_EQ(operation->weight(), 2);
    EXPECT_EQ(operation->timed_ranks(), std::vector<std::size_t>{1});
    EXPECT_EQ(validate(*operation, nullptr).wrong, 0);
    for (const std::size_t byte : {0U, 4U}) {
        const Validation found = validate(*operation, [&](int, std::byte *, std::byte *receive, std::size_t) {
            if (comm.rank() == 1) {
                flip(receive[byte]);
            }
        });
        EXPECT_EQ(found.calls, 1);
        EXPECT_EQ(found.wrong, comm.rank() == 1 ? 1 : 0);
    }
    calls = 0;
    operation->run();
    EXPECT_EQ(calls, comm.rank() < 2 ? 1 : 0);
}

// A barrier fails if a rank leaves it before the last has entered; the rank that was late sees that.
TEST(EntryOrder, FindsThoseThatLeaveEarly) {
    const Communicator comm;
    const auto barrier = [&] { check(PMPI_Barrier(comm.handle()), "MPI_Barrier"); };
    for (int late = 0; late < comm.size(); ++late) {
        EXPECT_FALSE(find_early_leaver(comm.handle(), late, barrier));
        int found = 0;
        for (int i = 0; i < 20; ++i) { // on a busy machine a rank may take long to leave
            barrier();                 // else a rank would be ahead by several checks
            const auto error = find_early_leaver(comm.handle(), late, [] {});
            if (error) {
                EXPECT_EQ(comm.rank(), late);
                EXPECT_EQ(error->rfind("rank ", 0), 0U);
                EXPECT_NE((*error)[5], static_cast<char>('0' + late));
                ++found;
            }
        }
        EXPECT_EQ(found > 0, comm.rank() == late && comm.size() > 1);
    }
}

TEST(EntryOrder, IsCheckedWithEachRankLateInTurn) {
    const Communicator comm;
    const auto operation = make(comm, "barrier", 0);
    EXPECT_EQ(operation->validate().value().wrong, 0);
    int found = comm.size() > 1 ? 0 : 1;
    no_barrier = true;
    for (int i = 0; i < 20 && found == 0; ++i) {
        const Validation validation = operation->validate().value();
        EXPECT_LE(validation.wrong, 2); // of four calls, in two of which this rank is late
        found = validation.wrong > 0 ? 1 : 0;
        PMPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MIN, comm.handle());
    }
    no_barrier = false;
    EXPECT_EQ(found, 1);
}

struct Timed {
    const char *operation;
    double own;      // s, the time of a call without computation, as the operation is given it
    double computed; // s
    double time;     // s, on rank 0
    double step;     // s, more on each further rank
};

// No call is shorter than what was asked for, and the shortest of some is that.
TEST(Operations, ComputeAsLongAsAskedAndSayIt) {
    const Communicator comm;
    for (const Timed &one : {
             Timed{"ibarrier(compute=400us)", 1.0, 400e-6, 400e-6, 0.0},
             Timed{"ibarrier(compute=400us,tests=3)", 1.0, 400e-6, 400e-6, 0.0},
             Timed{"ibarrier(compute=auto)", 400e-6, 400e-6, 400e-6, 0.0},
             Timed{"synthetic(duration=300us,step=50us)", 1.0, 0.0, 300e-6, 50e-6},
             Timed{"synthetic(duration=300us,step=0,compute=200us)", 1.0, 200e-6, 300e-6, 0.0},
             Timed{"synthetic(duration=300us,step=0,compute=200us,hidden=0.5)", 1.0, 200e-6, 400e-6, 0.0},
             Timed{"synthetic(duration=200us,step=40us,compute=auto,hidden=0.25)", 300e-6, 300e-6, 450e-6, 40e-6},
         }) {
        const auto operation = make(comm, one.operation, 0);
        operation->choose_computation(one.own);
        EXPECT_NEAR(operation->computation(), one.computed, 1e-12) << one.operation;
        const double planned = one.time + one.step * comm.rank();
        double shortest = 1.0;
        double least = 1.0;
        int busy = 1; // the machine, on any rank in all calls so far
        for (int i = 0; i < 1000 && busy != 0; ++i) {
            const long begin = unsteered_nanoseconds();
            operation->run();
            const double time = static_cast<double>(unsteered_nanoseconds() - begin) * 1e-9;
            const double computed = operation->take_computed();
            EXPECT_GE(computed, one.computed - 5e-9) << one.operation; // slices are whole ns
            EXPECT_GE(time, planned - 5e-9) << one.operation;
            shortest = std::min(shortest, time);
            least = std::min(least, computed);
            if (i % 20 == 19) {
                busy = shortest < 1.2 * planned ? 0 : 1;
                MPI_Allreduce(MPI_IN_PLACE, &busy, 1, MPI_INT, MPI_MAX, comm.handle());
            }
        }
        EXPECT_EQ(operation->take_computed(), 0.0) << one.operation;
        EXPECT_LT(shortest, 1.2 * planned) << one.operation;
        EXPECT_LT(least, 1.1 * one.computed + 1e-9) << one.operation;
        for (int i = 0; i < 3; ++i) {
            operation->run();
        }
        EXPECT_GE(operation->take_computed(), 3 * (one.computed - 5e-9)) << one.operation;
    }
}

} // namespace
} // namespace bench
