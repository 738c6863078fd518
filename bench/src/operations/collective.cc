// Topologies of neighborhood collectives, persistent collectives, and division of buffers into blocks (collective.h).
#include "operations/collective.h"

#include "mpi/communicator.h"

#include <dlfcn.h>
#include <string>

namespace bench {

std::vector<ComponentParameter> neighbor_parameters() {
    return {
        {"topology", "cartesian",
         "a periodic grid of ranks, or a distributed graph in which each rank sends to the next ones",
         ComponentValues::choice({"cartesian", "graph"})},
        {"dimensions", "2", "dimensions of the grid; MPI_Dims_create sets its extents", ComponentValues::whole(1, 8)},
        {"degree", "4", "ranks that each rank sends to in the graph", ComponentValues::whole(1, 1000)}};
}

bool is_cartesian(const Component &component) { return component.word("topology") == "cartesian"; }

int neighbor_count(const Component &component) {
    return static_cast<int>(is_cartesian(component) ? 2 * component.whole("dimensions") : component.whole("degree"));
}

Neighbors::Neighbors(MPI_Comm parent, int rank, int ranks, const Component &component) {
    if (is_cartesian(component)) {
        make_cartesian(parent, ranks, static_cast<int>(component.whole("dimensions")));
    } else {
        make_graph(parent, rank, ranks, neighbor_count(component));
    }
}

Neighbors::~Neighbors() { MPI_Comm_free(&comm_); }

// Sets the neighbors in the order of MPI 4.0, section 8.6: in each dimension the neighbor in the negative direction,
// then the neighbor in the positive direction. Data that is sent in a direction arrives from the opposite direction,
// even if both neighbors are the same rank (MPI 4.0, Annex B.1.1, item 1). So this rank receives block 2 * dimension +
// 1 of its negative neighbor, which that rank sends in the positive direction.
void Neighbors::make_cartesian(MPI_Comm parent, int ranks, int dimensions) {
    std::vector<int> extents(static_cast<std::size_t>(dimensions));
    const std::vector<int> periodic(extents.size(), 1);
    check(MPI_Dims_create(ranks, dimensions, extents.data()), "MPI_Dims_create");
    check(MPI_Cart_create(parent, dimensions, extents.data(), periodic.data(), 0, &comm_), "MPI_Cart_create");
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int negative = 0; // neighbors in the two directions
        int positive = 0;
        check(MPI_Cart_shift(comm_, dimension, 1, &negative, &positive), "MPI_Cart_shift");
        destinations_.insert(destinations_.end(), {negative, positive});
        sources_.push_back({.rank = negative, .block = 2 * dimension + 1});
        sources_.push_back({.rank = positive, .block = 2 * dimension});
    }
}

// Sets the neighbors of a graph in which each rank sends to the next `degree` ranks. The messages of a rank that occurs
// several times match in the order of the lists (MPI 4.0, section 8.6).
void Neighbors::make_graph(MPI_Comm parent, int rank, int ranks, int degree) {
    std::vector<int> from;
    for (int block = 0; block < degree; ++block) {
        const int distance = (block + 1) % ranks;
        destinations_.push_back((rank + distance) % ranks);
        from.push_back((rank + ranks - distance) % ranks);
        sources_.push_back({.rank = from.back(), .block = block});
    }
    check(MPI_Dist_graph_create_adjacent(parent, degree, from.data(), MPI_UNWEIGHTED, degree, destinations_.data(),
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_),
          "MPI_Dist_graph_create_adjacent");
}

namespace {

/// The function `prefix`_`name`_init of the MPI library; null if it has none.
void *find(const char *prefix, const char *name) {
    return dlsym(RTLD_DEFAULT, (std::string(prefix) + "_" + name + "_init").c_str());
}

} // namespace

const char *persistent_prefix() {
    for (const char *const prefix : {"MPI", "MPIX"}) {
        if (find(prefix, "Barrier") != nullptr) {
            return prefix;
        }
    }
    return nullptr;
}

void *find_persistent(const char *name) {
    static const char *const prefix = persistent_prefix();
    return prefix == nullptr ? nullptr : find(prefix, name);
}

namespace {

constexpr const char *rising_counts = "rising";

} // namespace

void Blocks::add(std::uint64_t count, std::uint64_t at) {
    counts.push_back(static_cast<int>(count));
    displacements.push_back(static_cast<int>(at));
}

ComponentParameter counts_parameter() {
    return {"counts", "equal",
            "block sizes: equal for all ranks, or growing with the rank; their mean is the message size",
            ComponentValues::choice({"equal", rising_counts})};
}

std::string to_string(Flow flow) {
    constexpr const char *names[] = {"all", "from_root", "to_root", "from_lower", "neighbors", "none"};
    return names[static_cast<std::size_t>(flow)];
}

Collective::Collective(const CollectiveInfo &described, const CollectiveArguments &arguments)
    : CollectiveArguments(arguments), info(described),
      rising(described.traits.irregular && component.word("counts") == rising_counts) {
    if (info.traits.flow == Flow::neighbors) {
        neighbors.emplace(comm, rank, ranks, component);
    }
    info.divide(*this);
    for (const int displacement : send.displacements) {
        types.push_back(type());
        addresses.push_back(displacement * static_cast<MPI_Aint>(elements->extent()));
        bytes.push_back(static_cast<int>(addresses.back()));
    }
}

Layout Collective::layout(int root) const { return info.layout(*this, root); }

std::unique_ptr<Call> Collective::bind(const CallBuffers &buffers, int root) const {
    return info.bind(*this, buffers, root);
}

Layout Collective::contribution(std::uint64_t elements_sent, bool in_receive_buffer, std::uint64_t at) const {
    Layout layout;
    if (in_receive_buffer) {
        layout.initial = {{.at = at, .count = elements_sent, .from = 0, .first_rank = rank, .last_rank = rank}};
    } else {
        layout.send = elements_sent;
    }
    return layout;
}

Blocks Collective::share(std::uint64_t total) const {
    const auto group_size = static_cast<std::uint64_t>(ranks);
    const auto begin = [&](std::uint64_t block) { // first element of a block
        return rising ? total * (block * (block + 1) / 2) / (group_size * (group_size + 1) / 2)
                      : total * block / group_size;
    };
    Blocks blocks;
    for (std::uint64_t block = 0; block < group_size; ++block) {
        blocks.add(begin(block + 1) - begin(block));
    }
    return blocks;
}

std::uint64_t Collective::pair_count(int a, int b) const {
    return rising ? count * static_cast<std::uint64_t>(1 + a + b) / static_cast<std::uint64_t>(ranks) : count;
}

void share_messages(Collective &collective) {
    collective.send = collective.receive =
        collective.share(collective.count * static_cast<std::uint64_t>(collective.ranks));
}

const std::vector<CollectiveInfo> &all_collectives() {
    static const std::vector<CollectiveInfo> registry = [] {
        std::vector<CollectiveInfo> entries = collectives::data_movement();
        for (const auto &more : {collectives::reductions(), collectives::neighborhood()}) {
            entries.insert(entries.end(), more.begin(), more.end());
        }
        return entries;
    }();
    return registry;
}

} // namespace bench
