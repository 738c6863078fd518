// Operations that the benchmark measures, and their registry: the collectives in all forms, ping_pong, nothing,
// synthetic, and operations from users' shared objects. Also what operations share: buffers, flushing caches,
// computation between start and wait, and a check that no rank leaves a barrier early.
#pragma once

#include "text/component.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Outcome on this rank of calls whose results were checked.
struct Validation {
    long calls = 0;    // checked calls
    long wrong = 0;    // calls with a wrong result
    std::string error; // the first wrong result: "element 3 is 5 instead of 6"
};

/// An operation with its buffers. It can be called any number of times.
class Operation {
public:
    virtual ~Operation() = default;

    /// Local. Called before the synchronization that precedes run(), so its time is not measured.
    virtual void prepare() {}

    /// Collective. The timed call: returns when the operation is complete on this rank.
    virtual void run() = 0;

    /// Collective. Makes `calls` calls in a row.
    virtual void repeat(long calls) {
        for (long i = 0; i < calls; ++i) {
            run();
        }
    }

    /// The weight of a call: 2 for a round trip, whose latency is half of its time.
    virtual long weight() const { return 1; }

    /// The ranks whose time in the operation is the latency; empty: all ranks.
    virtual std::vector<std::size_t> timed_ranks() const { return {}; }

    /// The time that this rank has spent in computation in calls since the last take_computed(), s.
    virtual double take_computed() { return 0.0; }

    /// Local. Sets the time of the computation; calls before do not compute. `operation_time`: time of a call without
    /// computation, s, the same on all ranks.
    virtual void choose_computation(double /*operation_time*/) {}

    /// The planned time of the computation during a call, s; 0 without computation.
    virtual double computation() const { return 0.0; }

    /// Collective. Calls the operation and checks its results. Returns nullopt if the operation cannot check them.
    virtual std::optional<Validation> validate() { return std::nullopt; }
};

/// The arguments with which an operation is made.
struct OperationArguments {
    MPI_Comm comm;
    std::uint64_t size;         // bytes, see OperationInfo::size_meaning
    const Component &component; // the operation and its parameters
};

/// The sizes that an operation with its parameters can take.
struct SizeLimits {
    std::uint64_t divisor = 1; // sizes are multiples of this, bytes
    std::uint64_t max = 0;     // largest size, bytes
};

struct OperationInfo : ComponentInfo {
    std::string call;         // the called functions: "MPI_Ibcast, MPI_Wait"
    std::string size_meaning; // the object that has the size: "of the message"; "" if the operation has no size
    std::string file;         // path of a user's shared object; "" if the operation is built in
    bool computes = false;    // the operation has parameters of Computation
    std::string unavailable;  // the reason why this MPI library does not have it; "" if it is available

    /// Checks the parameters, and returns the limits of sizes. Throws Error::usage if parameters contradict each other
    /// or do not fit the number of ranks.
    std::function<SizeLimits(const Component &component, int ranks)> limits;
    /// The names of the MPI datatype and of the reduction operator: "MPI_DOUBLE MPI_SUM".
    std::function<std::string(const Component &component, std::uint64_t size)> datatype;
    /// Collective. Makes the operation with its buffers.
    std::function<std::unique_ptr<Operation>(const OperationArguments &arguments)> make;

    std::string collective; // e.g. "bcast" for ibcast; "" if the operation is not a form of a collective
    std::string form;       // "blocking", "nonblocking", "persistent" or ""

    bool sized() const { return !size_meaning.empty(); }
};

namespace operations {
OperationInfo ping_pong();
OperationInfo nothing();
OperationInfo synthetic();
} // namespace operations

/// All collectives in all forms: bcast, ibcast, bcast_init, ...
std::vector<OperationInfo> collective_operations();

/// All built-in operations.
const std::vector<OperationInfo> &all_operations();

/// Makes the entry of an operation without a size.
OperationInfo unsized_operation(ComponentInfo info,
                                std::unique_ptr<Operation> (*make)(const OperationArguments &arguments));

/// Memory in which every byte has been written, so that measurements have no page faults.
class Buffer {
public:
    /// The buffer begins `shift` cache lines (modulo the lines of a page) after the beginning of a page. With different
    /// shifts, buffers do not compete for the same sets of a cache.
    explicit Buffer(std::uint64_t size, std::size_t shift = 0);
    void *data() const { return data_.get() + offset_; }

private:
    struct Free {
        void operator()(char *data) const;
    };
    std::unique_ptr<char[], Free> data_;
    std::size_t offset_;
};

/// The size of the processor's largest cache, bytes; 32 MiB if it is unknown.
std::uint64_t largest_cache();

/// Flushes memory from all caches of this processor.
void flush_from_caches(const void *data, std::uint64_t size);

/// Collective. Tests a barrier: all ranks call `run`, and rank `late` calls it last. Returns a violation on rank
/// `late`, "rank 2 left before this one entered"; nullopt without a violation, and on other ranks.
///
/// The test uses messages instead of clocks. Rank `late` waits until all other ranks are about to call `run`, and then
/// waits 1 ms longer. If a rank reports by then that it has left, it has left too early. A violation is missed if this
/// report takes longer than 1 ms.
std::optional<std::string> find_early_leaver(MPI_Comm comm, int late, const std::function<void()> &run);

/// Computation between the start of a nonblocking operation and the wait for it.
class Computation {
public:
    explicit Computation(const Component &operation);

    /// Sets the planned time: that of parameter `compute`, or `operation_time` (s) if it is auto.
    void choose(double operation_time);
    /// The planned time, s; 0 before choose() and without computation.
    double seconds() const { return seconds_; }

    /// Computes for the planned time, and calls MPI_Test at equal distances. The time of these calls is not counted as
    /// computation.
    void run(MPI_Request *request);
    /// Returns the time of computation since the last take(), s. It is longer than planned, because a step of the
    /// computation is not interrupted.
    double take();

private:
    double compute_;                   // parameter `compute`, s; -1 for auto
    long tests_;                       // parameter `tests`
    double seconds_ = 0.0;             // planned time, s
    double computed_ = 0.0;            // time since the last take(), s
    std::array<double, 64> numbers_{}; // the data of the computation
};

/// Declares parameters `compute` and `tests`.
std::vector<ComponentParameter> computation_parameters();

/// True if the parameters of the operation request computation.
bool computes(const Component &operation);

/// Throws Error::usage if parameters `compute` and `tests` contradict each other.
void check_computation(const Component &operation);

/// The same operation without computation.
Component without_computation(const Component &operation, const OperationInfo &info);

/// True if the text of an operation is the path of a shared object: it has a slash before its parameters, or ends in
/// ".so".
bool is_user_operation(std::string_view text);

/// The component for the text of a user's operation: "my_op(ring)" for "./my_op.so(ring)". Throws Error::usage.
Component user_operation_component(std::string_view text);

/// Collective over MPI_COMM_WORLD. Loads the operation of a shared object (downbeat/operation.h), which then stays
/// loaded. Throws Error::usage if a rank cannot load it.
OperationInfo load_user_operation(std::string_view text);

} // namespace bench
