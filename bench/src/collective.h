#pragma once

#include "collectives/call.h"
#include "elements.h"
#include "part.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// What a call finds in the buffers of one rank, and leaves there. Counts are elements.
struct Layout {
    std::uint64_t send = 0;           // of this rank's contribution, from its beginning; 0: it has none
    std::uint64_t receive = 0;        // of the receive buffer
    std::optional<std::uint64_t> own; // in place: where in the receive buffer the contribution stands
    std::vector<Piece> result;        // in the receive buffer afterwards
};

/// What a call is given. `send` is MPI_IN_PLACE where the layout has the contribution in the receive buffer.
struct CallBuffers {
    void *send;
    void *receive;
};

/// One collective on one communicator, with a message size. Knows nothing of forms, nor of memory.
class Collective {
public:
    virtual ~Collective() = default;
    virtual Layout layout(int root) const = 0;
    /// Of a call; must not outlive this.
    virtual std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const = 0;
};

struct CollectiveArguments {
    MPI_Comm comm;
    int rank;
    int ranks;
    const Elements *elements; // nullptr where the collective has no messages
    std::uint64_t count;      // elements that the message size makes
    bool in_place;
    const Part &part; // parameters of the collective's own
};

/// What a collective has, and so which parameters its operations take.
struct CollectiveTraits {
    bool rooted = false;
    bool reduces = false;
    bool in_place = false;
    bool blocking_only = false;
    /// The most elements, in multiples of the message's, whose count or displacement MPI takes as an int.
    enum class Reach { message, all_ranks } reach = Reach::message;
};

struct CollectiveInfo {
    std::string name;         // "bcast"
    std::string mpi_name;     // "Bcast"
    std::string description;  // what it does, in a few words
    std::string size_meaning; // what the bytes of a message size are: "of the message"; "" where it has none
    CollectiveTraits traits;
    std::vector<PartParameter> parameters; // of its own
    /// Collective: it may make a communicator of its own.
    std::unique_ptr<Collective> (*make)(const CollectiveArguments &arguments);
};

// One line per collective; collectives/<name>.cc defines the function of that name.
#define BENCH_COLLECTIVES(COLLECTIVE)                                                                                  \
    COLLECTIVE(barrier)                                                                                                \
    COLLECTIVE(bcast)                                                                                                  \
    COLLECTIVE(reduce)                                                                                                 \
    COLLECTIVE(allreduce)

namespace collectives {
#define BENCH_DECLARE(name) CollectiveInfo name();
BENCH_COLLECTIVES(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace collectives

const std::vector<CollectiveInfo> &all_collectives();

} // namespace bench
