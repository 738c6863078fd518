#pragma once

#include "text/component.h"

#include <mpi.h>
#include <vector>

namespace bench {

/// The parameters of neighborhood collectives: `topology`, `dimensions`, `degree`.
std::vector<ComponentParameter> neighbor_parameters();

bool is_cartesian(const Component &component);

/// Neighbors of a rank by those parameters, one that is a neighbor in several ways counted for each.
int neighbor_count(const Component &component);

/// A communicator with a topology. Neighbors may be the same rank, or this one, where there are few ranks.
class Neighbors {
public:
    /// Collective.
    Neighbors(MPI_Comm parent, int rank, int ranks, const Component &component);
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
    void make_cartesian(MPI_Comm parent, int ranks, int dimensions);
    void make_graph(MPI_Comm parent, int rank, int ranks, int degree);

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<Source> sources_;
    std::vector<int> destinations_;
};

} // namespace bench
