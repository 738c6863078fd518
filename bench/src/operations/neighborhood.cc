// The neighborhood collectives: a row for each, with the contents of its buffers, and a test for a known bug.
#include "mpi/communicator.h"
#include "operations/collective.h"
#include "text/component.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace bench {
namespace {

/// For CollectiveInfo::divide of neighbor_allgather: this rank sends one block, and receives a block from each source.
void share_with_neighbors(Collective &c) {
    const Blocks shares = c.share(c.count * static_cast<std::uint64_t>(c.ranks));
    c.send.add(shares.count(static_cast<std::size_t>(c.rank)));
    for (const Neighbors::Source &source : c.neighbors->sources()) {
        c.receive.add(shares.count(static_cast<std::size_t>(source.rank)));
    }
}

/// Distance between the begins of blocks, in elements: the largest size of a block, so that a block's begin does not
/// depend on the sizes of other blocks.
std::uint64_t stride(const Collective &c) { return c.rising ? 2 * c.count : c.count; }

/// For CollectiveInfo::divide of neighbor_alltoall: this rank sends a block to each neighbor, and receives one from
/// each.
void exchange_with_neighbors(Collective &c) {
    for (std::uint64_t i = 0; i < c.neighbors->sources().size(); ++i) {
        c.send.add(c.pair_count(c.rank, c.neighbors->destinations()[i]), i * stride(c));
        c.receive.add(c.pair_count(c.neighbors->sources()[i].rank, c.rank), i * stride(c));
    }
}

/// Sets the result: a block from each source. `from` maps the index of a block of the source to the element at which
/// the block begins in the source's send buffer.
template <typename From> void receive_from_neighbors(const Collective &c, Layout &layout, From from) {
    for (std::size_t i = 0; i < c.neighbors->sources().size(); ++i) {
        const auto [rank, block] = c.neighbors->sources()[i];
        layout.result.push_back({.at = c.receive.at(i),
                                 .count = c.receive.count(i),
                                 .from = from(static_cast<std::uint64_t>(block)),
                                 .first_rank = rank,
                                 .last_rank = rank});
    }
}

/// Layout of neighbor_allgather: each source sends its only block, which begins at element 0.
Layout gathered(const Collective &c, int) {
    Layout layout{.send = c.send.end(), .receive = c.receive.end()};
    receive_from_neighbors(c, layout, [](std::uint64_t) { return std::uint64_t{0}; });
    return layout;
}

/// Layout of neighbor_alltoall: blocks begin at multiples of stride().
Layout exchanged(const Collective &c, int) {
    const std::uint64_t total = c.neighbors->sources().size() * stride(c);
    Layout layout{.send = total, .receive = total};
    receive_from_neighbors(c, layout, [&](std::uint64_t block) { return block * stride(c); });
    return layout;
}

/// For CollectiveInfo::reach; blocks are at most twice as large as their mean.
std::uint64_t reach_neighbors(const Component &component, int) {
    return 2 * static_cast<std::uint64_t>(neighbor_count(component));
}

/// Sends blocks from this process to itself, in both directions of each dimension of a grid, or along repeated edges of
/// a graph. Returns true if the MPI library mixes up the blocks.
bool blocks_go_astray(bool cartesian, bool irregular, int dimensions, Form form) {
    MPI_Comm comm = MPI_COMM_NULL;
    const auto blocks = 2 * static_cast<std::size_t>(dimensions);
    const std::vector<int> ones(blocks, 1);
    const std::vector<int> self(blocks, 0);
    if (cartesian) {
        check(MPI_Cart_create(MPI_COMM_SELF, dimensions, ones.data(), ones.data(), 0, &comm), "MPI_Cart_create");
    } else {
        const int degree = 2 * dimensions;
        check(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, degree, self.data(), MPI_UNWEIGHTED, degree, self.data(),
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
              "MPI_Dist_graph_create_adjacent");
    }
    std::vector<int> sent(blocks);
    std::iota(sent.begin(), sent.end(), 1);
    std::vector<int> received(blocks);
    std::vector<int> displacements(blocks);
    std::iota(displacements.begin(), displacements.end(), 0);
    const auto call = irregular ? bind_call(BENCH_FORMS(Neighbor_alltoallv, neighbor_alltoallv), sent.data(),
                                            ones.data(), displacements.data(), MPI_INT, received.data(), ones.data(),
                                            displacements.data(), MPI_INT, comm)
                                : bind_call(BENCH_FORMS(Neighbor_alltoall, neighbor_alltoall), sent.data(), 1, MPI_INT,
                                            received.data(), 1, MPI_INT, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    switch (form) {
    case Form::blocking:
        check(call->run(), "MPI_Neighbor_alltoall");
        break;
    case Form::nonblocking:
        check(call->start(&request), "MPI_Ineighbor_alltoall");
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
        break;
    case Form::persistent:
        check(call->init(&request), "MPI_Neighbor_alltoall_init");
        check(MPI_Start(&request), "MPI_Start");
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
        check(MPI_Request_free(&request), "MPI_Request_free");
        break;
    }
    check(MPI_Comm_free(&comm), "MPI_Comm_free");
    for (std::size_t direction = 0; cartesian && direction < blocks; direction += 2) {
        std::swap(sent[direction], sent[direction + 1]);
    }
    return received != sent;
}

/// The number of dimensions of the grid to test with blocks_go_astray(): dimensions in which a rank has the same
/// neighbor on both sides. These are the dimensions of extent 1, in which a rank is its own neighbor; if there are
/// none, a dimension of extent 2 counts as one. For a graph, 1 if it repeats neighbors. 0: nothing to test.
int repeating_dimensions(const Component &component, int ranks) {
    if (!is_cartesian(component)) {
        return neighbor_count(component) > ranks ? 1 : 0;
    }
    std::vector<int> extents(static_cast<std::size_t>(component.whole("dimensions")));
    check(MPI_Dims_create(ranks, static_cast<int>(extents.size()), extents.data()), "MPI_Dims_create");
    if (const auto single = std::ranges::count(extents, 1); single > 0) {
        return static_cast<int>(single);
    }
    return contains(extents, 2) ? 1 : 0;
}

/// An error message if a parameter of the other topology is set; else "".
std::string find_idle_parameter(const Component &component) {
    const std::string idle = is_cartesian(component) ? "degree" : "dimensions";
    for (const ComponentParameter &parameter : neighbor_parameters()) {
        if (parameter.name == idle && component.word(idle) != parameter.value) {
            return fmt::format("topology={} has no {}; leave it out", component.word("topology"), idle);
        }
    }
    return "";
}

/// Tests whether the MPI library mixes up blocks if a rank occurs several times as a neighbor. `irregular`: tests
/// MPI_Neighbor_alltoallv, whose algorithm MPI_Neighbor_alltoallw shares, instead of MPI_Neighbor_alltoall. MPICH 4.0.2
/// has cases that are wrong in only one of the two.
template <bool irregular> std::string find_astray_blocks(const Component &component, int ranks, Form form) {
    if (std::string idle = find_idle_parameter(component); !idle.empty()) {
        return idle;
    }
    const int dimensions = repeating_dimensions(component, ranks);
    if (dimensions == 0 || !blocks_go_astray(is_cartesian(component), irregular, dimensions, form)) {
        return "";
    }
    return fmt::format("with {} ranks some are neighbors in several ways, and this MPI library mixes up their blocks "
                       "(open-mpi/ompi#14430, pmodels/mpich#2194); try another topology",
                       ranks);
}

} // namespace

std::vector<CollectiveInfo> collectives::neighborhood() {
    return {
        {BENCH_COLLECTIVE(Neighbor_allgather, neighbor_allgather, b.send, c.number(), c.type(), b.receive, c.number(),
                          c.type(), c.neighbors->comm()),
         .description = "one message from each rank to all its neighbors", .size_meaning = "from each rank",
         .traits = {.flow = Flow::neighbors}, .layout = gathered, .divide = share_with_neighbors,
         .reach = reach_neighbors},
        {BENCH_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, b.send, c.send.counts[0], c.type(), b.receive,
                          c.receive.counts.data(), c.receive.displacements.data(), c.type(), c.neighbors->comm()),
         .description = "one message from each rank to all its neighbors", .size_meaning = "from each rank",
         .traits = {.flow = Flow::neighbors, .irregular = true}, .layout = gathered, .divide = share_with_neighbors,
         .reach = reach_neighbors},
        {BENCH_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, b.send, c.number(), c.type(), b.receive, c.number(),
                          c.type(), c.neighbors->comm()),
         .description = "one message from each rank to each of its neighbors", .size_meaning = "to each neighbor",
         .traits = {.flow = Flow::neighbors}, .layout = exchanged, .divide = exchange_with_neighbors,
         .reach = reach_neighbors, .fault = find_astray_blocks<false>},
        {BENCH_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, b.send, c.send.counts.data(),
                          c.send.displacements.data(), c.type(), b.receive, c.receive.counts.data(),
                          c.receive.displacements.data(), c.type(), c.neighbors->comm()),
         .description = "one message from each rank to each of its neighbors", .size_meaning = "to each neighbor",
         .traits = {.flow = Flow::neighbors, .irregular = true}, .layout = exchanged, .divide = exchange_with_neighbors,
         .reach = reach_neighbors, .fault = find_astray_blocks<true>},
        {BENCH_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, b.send, c.send.counts.data(), c.addresses.data(),
                          c.types.data(), b.receive, c.receive.counts.data(), c.addresses.data(), c.types.data(),
                          c.neighbors->comm()),
         .description = "one message from each rank to each of its neighbors, each with its own datatype",
         .size_meaning = "to each neighbor", .traits = {.flow = Flow::neighbors, .irregular = true},
         .layout = exchanged, .divide = exchange_with_neighbors, .reach = reach_neighbors,
         .fault = find_astray_blocks<true>},
    };
}

} // namespace bench
