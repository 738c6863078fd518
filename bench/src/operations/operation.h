#pragma once

#include "text/component.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>
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

    /// The weight of a call: 2 for a round trip, half of which is the latency.
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

} // namespace bench
