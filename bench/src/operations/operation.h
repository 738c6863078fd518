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

/// The results of calls with known contents, on one rank.
struct Validation {
    long calls = 0;
    long wrong = 0;
    std::string error; // of the first wrong one: "element 3 is 5 instead of 6"
};

/// An operation on buffers of its own, ready to be called again and again.
class Operation {
public:
    virtual ~Operation() = default;

    /// Local. Before the synchronization that precedes run(), so that its time does not count.
    virtual void prepare() {}

    /// Collective. The timed part: from the call to the moment at which the operation is complete on this rank.
    virtual void run() = 0;

    /// So many calls in a row.
    virtual void repeat(long calls) {
        for (long i = 0; i < calls; ++i) {
            run();
        }
    }

    /// The weight of a call: 2 for a round trip, whose latency is half of its time.
    virtual long weight() const { return 1; }

    /// Ranks whose time in the operation is its latency; all ranks if empty.
    virtual std::vector<std::size_t> timed_ranks() const { return {}; }

    /// Seconds of the calls since the last take_computed() that this rank spent computing, beside the operation.
    virtual double take_computed() { return 0.0; }

    /// Local. Before any call that computes; `own_time`: seconds of a call that does not, the same on all ranks.
    virtual void choose_computation(double /*own_time*/) {}

    /// Seconds that a call computes, as planned; 0 if it does not.
    virtual double computation() const { return 0.0; }

    /// Collective. Calls the operation and checks its results; nothing if there is nothing to check.
    virtual std::optional<Validation> validate() { return std::nullopt; }
};

struct OperationArguments {
    MPI_Comm comm;
    std::uint64_t size; // bytes, see OperationInfo::size_meaning
    const Component &component;
};

/// The sizes that an operation with its parameters can take.
struct SizeLimits {
    std::uint64_t divisor = 1; // every size is a multiple of this
    std::uint64_t most = 0;    // bytes that counts and displacements can hold
};

struct OperationInfo : ComponentInfo {
    std::string call;         // what is called: "MPI_Ibcast, MPI_Wait"
    std::string size_meaning; // what the bytes of a size are: "of the message"; "" if it has none
    std::string file;         // of the user's own: its path; "" if it is built in
    bool computes = false;    // has parameters of Computation
    std::string unavailable;  // why this MPI library does not have it; "" if it does

    /// Set for operations with a size. Throws Error::usage if parameters contradict each other or the number of ranks.
    std::function<SizeLimits(const Component &component, int ranks)> limits;
    /// Datatype, and operator of a reduction: "MPI_DOUBLE MPI_SUM".
    std::function<std::string(const Component &component, std::uint64_t size)> datatype;
    /// Collective.
    std::function<std::unique_ptr<Operation>(const OperationArguments &arguments)> make;

    std::string collective; // "bcast", if this is its form "nonblocking"; "" if this is not a form
    std::string form;

    bool sized() const { return !size_meaning.empty(); }
};

namespace operations {
OperationInfo ping_pong();
OperationInfo nothing();
OperationInfo synthetic();
} // namespace operations

/// Every collective in its forms: bcast, ibcast, bcast_init.
std::vector<OperationInfo> collective_operations();

/// The collectives in all their forms, and the others.
const std::vector<OperationInfo> &all_operations();

/// For operations without a size.
OperationInfo unsized_operation(ComponentInfo info,
                                std::unique_ptr<Operation> (*make)(const OperationArguments &arguments));

/// Memory with every byte written, so that a measurement has no page faults.
class Buffer {
public:
    /// Begins `shift` cache lines (modulo those of a page) after the beginning of a page, so that many buffers do not
    /// share the same few places of a cache.
    explicit Buffer(std::uint64_t size, std::size_t shift = 0);
    void *data() const { return data_.get() + offset_; }

private:
    struct Free {
        void operator()(char *data) const;
    };
    std::unique_ptr<char[], Free> data_;
    std::size_t offset_;
};

/// Bytes of the largest cache of a processor; 32 MiB if unknown.
std::uint64_t largest_cache();

/// Flushes the memory from all caches of this processor.
void flush_from_caches(const void *data, std::uint64_t size);

/// Collective. Calls `run`, the rank `late` last: a barrier guarantees that no rank leaves before that. Returns the
/// violations that this rank saw: "rank 2 left before this one entered"; nothing on other ranks.
///
/// Messages prove it, not clocks: the late rank knows that all others are about to enter and waits a while; if one
/// reports that it has left, it certainly left too early. Messages that take longer than it waits go unnoticed.
std::optional<std::string> find_early_leaver(MPI_Comm comm, int late, const std::function<void()> &run);

/// Computation between the start of a nonblocking operation and the wait for it.
class Computation {
public:
    explicit Computation(const Component &operation);

    /// If the operation names no time, its own duration is used.
    void choose(double own_time);
    /// Seconds planned; 0: nothing is computed.
    double seconds() const { return seconds_; }

    /// Computes for that time, and tests now and then whether the operation is complete; the time of the tests does not
    /// count.
    void run(MPI_Request *request);
    /// Seconds that were really computed since the last call of this; the last step ends later than planned.
    double take();

private:
    double asked_; // seconds; negative: the operation's own time
    long tests_;
    double seconds_ = 0.0;
    double computed_ = 0.0;
    std::array<double, 64> numbers_{};
};

/// Parameters `compute` and `tests`.
std::vector<ComponentParameter> computation_parameters();

/// Whether the operation, by these parameters, computes.
bool computes(const Component &operation);

/// Throws Error::usage if they do not go together.
void check_computation(const Component &operation);

/// The same operation without computation.
Component without_computation(const Component &operation, const OperationInfo &info);

/// Whether an operation's text names a file: it has a slash before its parameters, or ends in ".so".
bool is_user_operation(std::string_view text);

/// The operation with its text in parentheses, "my_op(ring)" for "./my_op.so(ring)". Throws Error::usage.
Component user_operation_component(std::string_view text);

/// Collective over MPI_COMM_WORLD. The operation of a shared object (downbeat/operation.h), which stays loaded. Throws
/// Error::usage if any rank cannot load it.
OperationInfo load_user_operation(std::string_view text);

} // namespace bench
