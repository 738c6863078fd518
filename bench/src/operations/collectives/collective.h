#pragma once

#include "operations/collectives/call.h"
#include "operations/elements/elements.h"
#include "text/component.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// The contents of one rank's buffers before and after a call. Counts are elements.
struct Layout {
    std::uint64_t send = 0;    // of the send buffer, which is the rank's contribution from its beginning
    std::uint64_t receive = 0; // of the receive buffer
    /// In the receive buffer before; without a send buffer this is the contribution, in place.
    std::vector<Piece> initial = {};
    std::vector<Piece> result = {}; // in the receive buffer afterwards

    bool in_place() const { return send == 0 && !initial.empty(); }
};

/// The arguments of a call. `send` is MPI_IN_PLACE where the layout has the contribution in the receive buffer.
struct CallBuffers {
    void *send;
    void *receive;
};

struct CollectiveArguments {
    MPI_Comm comm;
    int rank;
    int ranks;
    const Elements *elements; // nullptr if the collective has no messages
    std::uint64_t count;      // elements that the message size makes
    bool in_place;
    const Component &component; // parameters of the collective's own
};

/// One collective on one communicator, with a message size. Independent of forms and memory.
class Collective {
public:
    explicit Collective(const CollectiveArguments &arguments) : a_(arguments) {}
    virtual ~Collective() = default;
    Collective(const Collective &) = delete;
    Collective &operator=(const Collective &) = delete;

    virtual Layout layout(int root) const = 0;
    /// A call on these buffers; must not outlive this.
    virtual std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const = 0;

protected:
    const CollectiveArguments &a() const { return a_; }
    int count() const { return static_cast<int>(a_.count); }
    MPI_Datatype type() const { return a_.elements->type(); }
    MPI_Op op() const { return a_.elements->op(); }

    /// A contribution of so many elements: in the send buffer, or `in_place` at an element of the receive buffer.
    Layout bring(std::uint64_t count, bool in_place = false, std::uint64_t at = 0) const;

private:
    CollectiveArguments a_;
};

/// The traits of a collective, which decide the parameters of its operations.
struct CollectiveTraits {
    bool rooted = false;
    bool reduces = false;
    bool in_place = false;
    bool blocking_only = false;
    bool byte_displacements = false; // as int, of blocks in memory
};

struct CollectiveInfo {
    std::string name;         // "bcast"
    std::string mpi_name;     // "Bcast"
    std::string description;  // what it does, in a few words
    std::string size_meaning; // what the bytes of a message size are: "of the message"; "" if it has none
    CollectiveTraits traits;
    /// Collective: it may make a communicator of its own.
    std::unique_ptr<Collective> (*make)(const CollectiveArguments &arguments);
    std::vector<ComponentParameter> parameters = {}; // of its own
    /// The most elements, in multiples of the message's, whose count or displacement MPI takes as an int.
    std::uint64_t (*reach)(const Component &component, int ranks) = [](const Component &, int) {
        return std::uint64_t{1};
    };
    /// Local. Why this MPI library gets it wrong in this form on so many ranks; "" if it does not.
    std::string (*fault)(const Component &component, int ranks, Form form) = [](const Component &, int, Form) {
        return std::string();
    };
};

/// For CollectiveInfo::make.
template <typename C> std::unique_ptr<Collective> make_collective(const CollectiveArguments &arguments) {
    return std::make_unique<C>(arguments);
}

/// For CollectiveInfo::reach: a block for every rank, of the same size or in the mean.
inline std::uint64_t reach_all_ranks(const Component &, int ranks) { return static_cast<std::uint64_t>(ranks); }

// One line per collective; collectives/<name>.cc defines the function of that name.
#define BENCH_COLLECTIVES(COLLECTIVE)                                                                                  \
    COLLECTIVE(barrier)                                                                                                \
    COLLECTIVE(bcast)                                                                                                  \
    COLLECTIVE(gather)                                                                                                 \
    COLLECTIVE(gatherv)                                                                                                \
    COLLECTIVE(scatter)                                                                                                \
    COLLECTIVE(scatterv)                                                                                               \
    COLLECTIVE(allgather)                                                                                              \
    COLLECTIVE(allgatherv)                                                                                             \
    COLLECTIVE(alltoall)                                                                                               \
    COLLECTIVE(alltoallv)                                                                                              \
    COLLECTIVE(alltoallw)                                                                                              \
    COLLECTIVE(reduce)                                                                                                 \
    COLLECTIVE(allreduce)                                                                                              \
    COLLECTIVE(reduce_scatter)                                                                                         \
    COLLECTIVE(reduce_scatter_block)                                                                                   \
    COLLECTIVE(scan)                                                                                                   \
    COLLECTIVE(exscan)                                                                                                 \
    COLLECTIVE(reduce_local)                                                                                           \
    COLLECTIVE(neighbor_allgather)                                                                                     \
    COLLECTIVE(neighbor_allgatherv)                                                                                    \
    COLLECTIVE(neighbor_alltoall)                                                                                      \
    COLLECTIVE(neighbor_alltoallv)                                                                                     \
    COLLECTIVE(neighbor_alltoallw)

namespace collectives {
#define BENCH_DECLARE(name) CollectiveInfo name();
BENCH_COLLECTIVES(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace collectives

const std::vector<CollectiveInfo> &all_collectives();

} // namespace bench
