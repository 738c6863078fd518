#pragma once

#include "operations/call.h"
#include "operations/elements.h"
#include "operations/neighbors.h"
#include "text/component.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
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

/// Blocks of a buffer, as the irregular collectives take them.
struct Blocks {
    std::vector<int> counts;        // elements
    std::vector<int> displacements; // elements

    void add(std::uint64_t count, std::uint64_t at);
    /// After the last one.
    void add(std::uint64_t count) { add(count, end()); }
    std::uint64_t count(std::size_t block) const { return static_cast<std::uint64_t>(counts[block]); }
    std::uint64_t at(std::size_t block) const { return static_cast<std::uint64_t>(displacements[block]); }
    std::uint64_t end() const { return counts.empty() ? 0 : at(counts.size() - 1) + count(counts.size() - 1); }
};

struct CollectiveArguments {
    MPI_Comm comm;
    int rank;
    int ranks;
    const Elements *elements; // nullptr if the collective has no messages
    std::uint64_t count;      // elements that the message size makes
    bool in_place;
    const Component &component;
};

struct CollectiveInfo;

/// One collective on one communicator, with a message size. Independent of forms and memory.
struct Collective : CollectiveArguments {
    /// Collective: it may make a communicator.
    Collective(const CollectiveInfo &described, const CollectiveArguments &arguments);
    Collective(const Collective &) = delete;
    Collective &operator=(const Collective &) = delete;

    Layout layout(int root) const;
    /// A call on these buffers; must not outlive this.
    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const;

    int number() const { return static_cast<int>(count); }
    MPI_Datatype type() const { return elements->type(); }
    MPI_Op op() const { return elements->op(); }

    /// A contribution of so many elements: in the send buffer, or, if it `stays`, at an element of the receive buffer.
    Layout bring(std::uint64_t brought, bool stays = false, std::uint64_t at = 0) const;

    /// `total` elements, shared among the ranks by parameter `counts`: evenly, or rising with the rank, so that rank i
    /// has 2 (i + 1) / (ranks + 1) of the mean; up to rounding. The sum is always `total`.
    Blocks share(std::uint64_t total) const;
    /// Elements that two ranks send each other, by that parameter: `count`, or (1 + a + b) / ranks times as many,
    /// rounded down, which is the same in the mean. The same in both directions, as MPI_Alltoallv demands it in place.
    std::uint64_t pair_count(int a, int b) const;

    const CollectiveInfo &info;
    bool rising;                        // whether blocks grow with the rank
    std::optional<Neighbors> neighbors; // of neighborhood collectives
    Blocks send;                        // of the buffers, where the collective divides them
    Blocks receive;
    // The types of alltoallw and neighbor_alltoallw, whose blocks begin at the same places of both buffers.
    std::vector<MPI_Datatype> types;
    std::vector<int> bytes; // displacements
    std::vector<MPI_Aint> addresses;
};

/// The traits of a collective, which decide the parameters of its operations.
struct CollectiveTraits {
    bool rooted = false;
    bool reduces = false;
    bool in_place = false;
    bool irregular = false; // takes blocks of different sizes
    bool neighbors = false; // communicates with them alone
    bool blocking_only = false;
    bool byte_displacements = false; // as int, of blocks in memory
};

struct CollectiveInfo {
    std::string name;     // "bcast"
    std::string mpi_name; // "Bcast"
    std::unique_ptr<Call> (*bind)(const Collective &collective, const CallBuffers &buffers, int root);
    std::string description;  // what it does, in a few words
    std::string size_meaning; // what the bytes of a message size are: "of the message"; "" if it has none
    CollectiveTraits traits = {};
    Layout (*layout)(const Collective &collective, int root);
    /// Sets Collective::send and Collective::receive.
    void (*divide)(Collective &collective) = [](Collective &) {};
    /// The most elements, in multiples of the message's, whose count or displacement MPI takes as an int.
    std::uint64_t (*reach)(const Component &component, int ranks) = [](const Component &, int) {
        return std::uint64_t{1};
    };
    /// Local. Why this MPI library gets it wrong in this form on so many ranks; "" if it does not.
    std::string (*fault)(const Component &component, int ranks, Form form) = [](const Component &, int, Form) {
        return std::string();
    };
};

/// Name, MPI's name and call of a CollectiveInfo: BENCH_COLLECTIVE(Bcast, bcast, arguments...), where `c` is the
/// collective, `b` its buffers, and `root` the root.
#define BENCH_COLLECTIVE(Name, lower, ...)                                                                             \
    .name = #lower, .mpi_name = #Name,                                                                                 \
    .bind = []([[maybe_unused]] const Collective &c, [[maybe_unused]] const CallBuffers &b,                            \
               [[maybe_unused]] int root) -> std::unique_ptr<Call> {                                                   \
        return bind_call(BENCH_FORMS(Name, lower), __VA_ARGS__);                                                       \
    }

/// The parameter of irregular collectives.
ComponentParameter counts_parameter();

/// For CollectiveInfo::reach: a block for every rank, of the same size or in the mean.
inline std::uint64_t reach_all_ranks(const Component &, int ranks) { return static_cast<std::uint64_t>(ranks); }

/// For CollectiveInfo::divide: every rank's share of all ranks' messages, in both buffers.
void share_messages(Collective &collective);

namespace collectives {
std::vector<CollectiveInfo> data_movement(); // and barrier
std::vector<CollectiveInfo> reductions();
std::vector<CollectiveInfo> neighborhood();
} // namespace collectives

const std::vector<CollectiveInfo> &all_collectives();

} // namespace bench
