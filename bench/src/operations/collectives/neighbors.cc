#include "operations/collectives/neighbors.h"

#include "mpi/mpi_check.h"
#include "operations/collectives/call.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace bench {
namespace {

bool is_cartesian(const Component &component) { return component.word("topology") == "cartesian"; }

} // namespace

std::vector<ComponentParameter> neighbor_parameters() {
    return {
        {"topology", "cartesian",
         "a periodic grid of ranks, or a distributed graph in which each rank sends to the next ones",
         ComponentValues::choice({"cartesian", "graph"})},
        {"dimensions", "2", "dimensions of the grid; MPI_Dims_create sets its extents", ComponentValues::whole(1, 8)},
        {"degree", "4", "ranks that each rank sends to in the graph", ComponentValues::whole(1, 1000)}};
}

std::vector<ComponentParameter> irregular_neighbor_parameters() {
    std::vector<ComponentParameter> parameters = neighbor_parameters();
    parameters.push_back(counts_parameter());
    return parameters;
}

int neighbor_count(const Component &component) {
    return static_cast<int>(is_cartesian(component) ? 2 * component.whole("dimensions") : component.whole("degree"));
}

std::uint64_t reach_neighbors(const Component &component, int) {
    return 2 * static_cast<std::uint64_t>(neighbor_count(component));
}

Neighbors::Neighbors(const CollectiveArguments &arguments) {
    is_cartesian(arguments.component) ? make_cartesian(arguments) : make_graph(arguments);
}

Neighbors::~Neighbors() { MPI_Comm_free(&comm_); }

// MPI 4.0, section 8.6: first the neighbor in the negative direction, then that in the positive one. Data sent in one
// direction comes from the other, even where both are the same rank (MPI 4.0, Annex B.1.1, item 1).
void Neighbors::make_cartesian(const CollectiveArguments &arguments) {
    const auto dimensions = static_cast<std::size_t>(arguments.component.whole("dimensions"));
    std::vector<int> extents(dimensions);
    const std::vector<int> periodic(dimensions, 1);
    const int number = static_cast<int>(dimensions);
    check(MPI_Dims_create(arguments.ranks, number, extents.data()), "MPI_Dims_create");
    check(MPI_Cart_create(arguments.comm, number, extents.data(), periodic.data(), 0, &comm_), "MPI_Cart_create");
    for (int dimension = 0; dimension < number; ++dimension) {
        int before = 0;
        int behind = 0;
        check(MPI_Cart_shift(comm_, dimension, 1, &before, &behind), "MPI_Cart_shift");
        destinations_.insert(destinations_.end(), {before, behind});
        sources_.push_back({before, 2 * dimension + 1});
        sources_.push_back({behind, 2 * dimension});
    }
}

// Where ranks repeat, their messages match in the order of the lists (MPI 4.0, section 8.6).
void Neighbors::make_graph(const CollectiveArguments &arguments) {
    const int degree = neighbor_count(arguments.component);
    std::vector<int> from;
    for (int block = 0; block < degree; ++block) {
        const int distance = (block + 1) % arguments.ranks;
        destinations_.push_back((arguments.rank + distance) % arguments.ranks);
        from.push_back((arguments.rank + arguments.ranks - distance) % arguments.ranks);
        sources_.push_back({from.back(), block});
    }
    check(MPI_Dist_graph_create_adjacent(arguments.comm, degree, from.data(), MPI_UNWEIGHTED, degree,
                                         destinations_.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_),
          "MPI_Dist_graph_create_adjacent");
}

namespace {

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
    const auto single = std::count(extents.begin(), extents.end(), 1);
    const bool twice = std::find(extents.begin(), extents.end(), 2) != extents.end();
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

std::string find_astray(bool irregular, const Component &component, int ranks, Form form) {
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

std::string find_astray_blocks(const Component &component, int ranks, Form form) {
    return find_astray(false, component, ranks, form);
}

std::string find_astray_irregular_blocks(const Component &component, int ranks, Form form) {
    return find_astray(true, component, ranks, form);
}

NeighborPairs::NeighborPairs(const CollectiveArguments &arguments)
    : neighbors_(arguments), stride_(largest_pair(arguments)) {
    for (std::uint64_t i = 0; i < neighbors_.sources().size(); ++i) {
        send_.add(pair_count(arguments, arguments.rank, neighbors_.destinations()[i]), i * stride_);
        receive_.add(pair_count(arguments, neighbors_.sources()[i].rank, arguments.rank), i * stride_);
    }
}

Layout NeighborPairs::layout() const {
    const std::uint64_t total = neighbors_.sources().size() * stride_;
    Layout layout{.send = total, .receive = total};
    for (std::size_t i = 0; i < neighbors_.sources().size(); ++i) {
        const auto [rank, block] = neighbors_.sources()[i];
        layout.result.push_back(
            {receive_.at(i), receive_.count(i), static_cast<std::uint64_t>(block) * stride_, rank, rank});
    }
    return layout;
}

} // namespace bench
