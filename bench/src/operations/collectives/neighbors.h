#pragma once

#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

#include <cstdint>
#include <vector>

namespace bench {

/// The parameters of neighborhood collectives: `topology`, `dimensions`, `degree`.
std::vector<ComponentParameter> neighbor_parameters();
/// And `counts`.
std::vector<ComponentParameter> irregular_neighbor_parameters();

/// Neighbors of a rank by those parameters, one that is a neighbor in several ways counted for each.
int neighbor_count(const Component &component);
/// For CollectiveInfo::reach, with blocks of at most twice the mean.
std::uint64_t reach_neighbors(const Component &component, int ranks);

/// For CollectiveInfo::fault, of collectives that send a block to each neighbor: whether blocks are mixed up if a rank
/// is a neighbor in several ways.
std::string find_astray_blocks(const Component &component, int ranks, Form form);
/// The same for MPI_Neighbor_alltoallv and MPI_Neighbor_alltoallw, whose algorithms are others: each has cases that
/// MPICH 4.0.2 gets right in one and wrong in the other.
std::string find_astray_irregular_blocks(const Component &component, int ranks, Form form);

/// A communicator with a topology. Neighbors may be the same rank, or this one, where there are few ranks.
class Neighbors {
public:
    /// Collective.
    explicit Neighbors(const CollectiveArguments &arguments);
    ~Neighbors();
    Neighbors(const Neighbors &) = delete;
    Neighbors &operator=(const Neighbors &) = delete;

    MPI_Comm comm() const { return comm_; }

    struct Source {
        int rank;
        int block; // which of its outgoing blocks comes from it
    };
    const std::vector<Source> &sources() const { return sources_; }
    const std::vector<int> &destinations() const { return destinations_; }

private:
    void make_cartesian(const CollectiveArguments &arguments);
    void make_graph(const CollectiveArguments &arguments);

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<Source> sources_;
    std::vector<int> destinations_;
};

/// The blocks of MPI_Neighbor_alltoallv and MPI_Neighbor_alltoallw, by pair_count(). Blocks begin as far apart as the
/// largest may be, so that where one begins does not depend on the others.
class NeighborPairs {
public:
    explicit NeighborPairs(const CollectiveArguments &arguments);

    MPI_Comm comm() const { return neighbors_.comm(); }
    Layout layout() const;
    const Blocks &send() const { return send_; }
    const Blocks &receive() const { return receive_; }

private:
    Neighbors neighbors_;
    std::uint64_t stride_; // elements
    Blocks send_;
    Blocks receive_;
};

} // namespace bench
