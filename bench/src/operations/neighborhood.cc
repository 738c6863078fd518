#include "mpi/communicator.h"
#include "operations/collective.h"
#include "text/component.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace bench {
namespace {

void share_with_neighbors(Collective &c) {
    const Blocks shares = c.share(c.count * static_cast<std::uint64_t>(c.ranks));
    c.send.add(shares.count(static_cast<std::size_t>(c.rank)));
    for (const Neighbors::Source &source : c.neighbors->sources()) {
        c.receive.add(shares.count(static_cast<std::size_t>(source.rank)));
    }
}

/// Blocks begin as far apart as the largest may be, so that where one begins does not depend on the others.
std::uint64_t stride(const Collective &c) { return c.rising ? 2 * c.count : c.count; }

void exchange_with_neighbors(Collective &c) {
    for (std::uint64_t i = 0; i < c.neighbors->sources().size(); ++i) {
        c.send.add(c.pair_count(c.rank, c.neighbors->destinations()[i]), i * stride(c));
        c.receive.add(c.pair_count(c.neighbors->sources()[i].rank, c.rank), i * stride(c));
    }
}

/// `from`: the element of a source's contribution at which the block begins that it sends here.
template <typename From> void receive_from_neighbors(const Collective &c, Layout &layout, From from) {
    for (std::size_t i = 0; i < c.neighbors->sources().size(); ++i) {
        const auto [rank, block] = c.neighbors->sources()[i];
        layout.result.push_back(
            {c.receive.at(i), c.receive.count(i), from(static_cast<std::uint64_t>(block)), rank, rank});
    }
}

Layout gathered(const Collective &c, int) {
    Layout layout{.send = c.send.end(), .receive = c.receive.end()};
    receive_from_neighbors(c, layout, [](std::uint64_t) { return std::uint64_t{0}; });
    return layout;
}

Layout exchanged(const Collective &c, int) {
    const std::uint64_t total = c.neighbors->sources().size() * stride(c);
    Layout layout{.send = total, .receive = total};
    receive_from_neighbors(c, layout, [&](std::uint64_t block) { return block * stride(c); });
    return layout;
}

/// With blocks of at most twice the mean.
std::uint64_t reach_neighbors(const Component &component, int) {
    return 2 * static_cast<std::uint64_t>(neighbor_count(component));
}

/// From this process to itself: in both directions of the dimensions of a grid, or twice along the edge of a graph.
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
    std::vector<int> places(blocks);
    std::iota(places.begin(), places.end(), 0);
    const auto call =
        irregular ? bind_call(BENCH_FORMS(Neighbor_alltoallv, neighbor_alltoallv), sent.data(), ones.data(),
                              places.data(), MPI_INT, received.data(), ones.data(), places.data(), MPI_INT, comm)
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

/// The number of dimensions of the grid in which a rank has the same neighbor on both sides: those of extent 1, in
/// which it is its own neighbor, and, as each of these has another one, one of extent 2. 1 for a graph that repeats
/// neighbors. 0: none.
int repeating_dimensions(const Component &component, int ranks) {
    if (!is_cartesian(component)) {
        return neighbor_count(component) > ranks ? 1 : 0;
    }
    std::vector<int> extents(static_cast<std::size_t>(component.whole("dimensions")));
    check(MPI_Dims_create(ranks, static_cast<int>(extents.size()), extents.data()), "MPI_Dims_create");
    const auto single = std::ranges::count(extents, 1);
    const bool twice = contains(extents, 2);
    return single > 0 ? static_cast<int>(single) : twice ? 1 : 0;
}

/// Says which parameter is of the other topology; "" if none is.
std::string find_idle_parameter(const Component &component) {
    const std::string idle = is_cartesian(component) ? "degree" : "dimensions";
    for (const ComponentParameter &parameter : neighbor_parameters()) {
        if (parameter.name == idle && component.word(idle) != parameter.value) {
            return fmt::format("topology={} has no {}; leave it out", component.word("topology"), idle);
        }
    }
    return "";
}

/// Whether blocks to neighbors are mixed up if a rank is a neighbor in several ways. `irregular`: by
/// MPI_Neighbor_alltoallv and MPI_Neighbor_alltoallw, whose algorithms are others: each has cases that MPICH 4.0.2 gets
/// right in one and wrong in the other.
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
