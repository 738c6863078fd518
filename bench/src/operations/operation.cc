// The registry of operations, operation "nothing", and the helpers of operation.h.
#include "operations/operation.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sched.h>
#include <unistd.h>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace bench {
namespace {

/// Operation `nothing`.
class Nothing : public Operation {
public:
    void run() override {}
};

} // namespace

const std::vector<OperationInfo> &all_operations() {
    static const std::vector<OperationInfo> all = [] {
        std::vector<OperationInfo> operations = collective_operations();
        for (const auto info : {operations::ping_pong, operations::nothing, operations::synthetic}) {
            operations.push_back(info());
        }
        return operations;
    }();
    return all;
}

OperationInfo unsized_operation(ComponentInfo info,
                                std::unique_ptr<Operation> (*make)(const OperationArguments &arguments)) {
    OperationInfo operation;
    static_cast<ComponentInfo &>(operation) = std::move(info);
    operation.limits = [](const Component &, int) { return SizeLimits{}; };
    operation.datatype = [](const Component &, std::uint64_t) { return std::string("none"); };
    operation.make = make;
    return operation;
}

OperationInfo operations::nothing() {
    return unsized_operation(
        {"nothing", "no operation: the synchronizer alone, and the cost of a timestamp"},
        [](const OperationArguments &) -> std::unique_ptr<Operation> { return std::make_unique<Nothing>(); });
}

namespace {

constexpr std::uint64_t page = 4096; // bytes
constexpr std::uint64_t line = 64;   // bytes; cache lines are not shorter on processors with an instruction to flush

// The initial byte of buffers. As double or float it is an ordinary positive number (4.8e-4, 0.75), neither denormal
// nor close to overflow, so that sums take their usual time.
constexpr int filler = 0x3f;

} // namespace

Buffer::Buffer(std::uint64_t size, std::size_t shift) : offset_(shift % (page / line) * line) {
    const std::uint64_t rounded = (offset_ + size + page - 1) / page * page; // aligned_alloc requires a multiple
    data_.reset(static_cast<char *>(std::aligned_alloc(page, rounded)));
    if (!data_) {
        throw std::bad_alloc();
    }
    std::memset(data_.get(), filler, rounded);
}

void Buffer::Free::operator()(char *data) const { std::free(data); }

std::uint64_t largest_cache() {
    const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? static_cast<std::uint64_t>(size) : std::uint64_t{32} << 20;
}

void flush_from_caches(const void *data, std::uint64_t size) {
    const char *const begin = static_cast<const char *>(data);
#if defined(__x86_64__)
    for (std::uint64_t at = 0; at < size; at += line) {
        _mm_clflush(begin + at);
    }
    _mm_mfence();
#elif defined(__aarch64__)
    for (std::uint64_t at = 0; at < size; at += line) {
        asm volatile("dc civac, %0" : : "r"(begin + at) : "memory");
    }
    asm volatile("dsb ish" : : : "memory");
#else
    // There is no unprivileged instruction, so writing to other memory evicts the lines.
    static std::vector<char> evicting(2 * largest_cache());
    std::fill(evicting.begin(), evicting.end(), static_cast<char>(begin[0] + static_cast<char>(size)));
#endif
}

namespace {

constexpr long wait_ns = 1'000'000; // wait of the late rank; hundreds of times longer than a message
constexpr int entering_tag = 1;     // the sender is about to enter the operation
constexpr int left_tag = 2;         // the sender has left the operation

void send(MPI_Comm comm, int to, int tag) { check(MPI_Send(nullptr, 0, MPI_BYTE, to, tag, comm), "MPI_Send"); }

/// Receives a message and returns its sender.
int receive(MPI_Comm comm, int tag) {
    MPI_Status status;
    check(MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &status), "MPI_Recv");
    return status.MPI_SOURCE;
}

/// Receives messages for 1 ms and returns their senders. Yields the processor between polls, because other ranks may
/// need it.
std::vector<int> receive_while_waiting(MPI_Comm comm, int tag) {
    std::vector<int> sources;
    for (const long end = unsteered_nanoseconds() + wait_ns; unsteered_nanoseconds() < end;) {
        int arrived = 0;
        check(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
        if (arrived != 0) {
            sources.push_back(receive(comm, tag));
        }
        sched_yield();
    }
    return sources;
}

} // namespace

std::optional<std::string> find_early_leaver(MPI_Comm comm, int late, const std::function<void()> &run) {
    int rank = 0;
    int ranks = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
    if (rank != late) {
        send(comm, late, entering_tag);
        run();
        send(comm, late, left_tag);
        return std::nullopt;
    }
    for (int peer = 1; peer < ranks; ++peer) {
        receive(comm, entering_tag);
    }
    const std::vector<int> early = receive_while_waiting(comm, left_tag);
    run();
    for (std::size_t received = early.size() + 1; received < static_cast<std::size_t>(ranks); ++received) {
        receive(comm, left_tag);
    }
    if (early.empty()) {
        return std::nullopt;
    }
    return fmt::format("rank {} left before this one entered", *std::ranges::min_element(early));
}

namespace {

// A parameter of operation synthetic that only matters with computation.
constexpr const char *hidden = "hidden";

} // namespace

Computation::Computation(const Component &operation)
    : compute_(operation.is_auto("compute") ? -1.0 : operation.seconds("compute")), tests_(operation.whole("tests")) {
    numbers_.fill(1.0);
}

void Computation::choose(double operation_time) { seconds_ = compute_ < 0.0 ? operation_time : compute_; }

void Computation::run(MPI_Request *request) {
    const long slice = std::lround(seconds_ * 1e9 / static_cast<double>(tests_ + 1)); // ns
    const auto work = [this] {
        for (double &number : numbers_) { // fits into the L1 cache; numbers stay close to 1
            number = 0.5 * number + 0.5;
        }
    };
    for (long i = 0; i <= tests_; ++i) {
        const long begin = unsteered_nanoseconds();
        work_until(begin + slice, work);
        computed_ += static_cast<double>(unsteered_nanoseconds() - begin) * 1e-9;
        if (i < tests_) {
            int complete = 0;
            check(MPI_Test(request, &complete, MPI_STATUS_IGNORE), "MPI_Test");
        }
    }
}

double Computation::take() { return std::exchange(computed_, 0.0); }

std::vector<ComponentParameter> computation_parameters() {
    return {{"compute", "0", "computation between call and wait; auto: as long as the operation takes alone",
             ComponentValues::duration(0.0, 1.0).or_word("auto")},
            {"tests", "0", "calls to MPI_Test, spread evenly over the computation", ComponentValues::whole(0, 10000)}};
}

bool computes(const Component &operation) { return operation.is_auto("compute") || operation.seconds("compute") > 0.0; }

void check_computation(const Component &operation) {
    if (operation.whole("tests") > 0 && !computes(operation)) {
        throw Error::usage(fmt::format(
            "{} has tests, but no computation to spread them over; add compute=auto, or compute with a duration",
            operation.text()));
    }
}

Component without_computation(const Component &operation, const OperationInfo &info) {
    std::vector<std::string> kept;
    for (const ComponentParameter &parameter : info.parameters) {
        if (parameter.name != "compute" && parameter.name != "tests" && parameter.name != hidden) {
            kept.push_back(parameter.name + "=" + operation.word(parameter.name));
        }
    }
    return {"operation", kept.empty() ? info.name : fmt::format("{}({})", info.name, join(kept, ",")), info};
}

} // namespace bench
