#include "operations/collectives/collective.h"
#include "operations/collectives/neighbors.h"

namespace bench {
namespace {

class NeighborAlltoallw : public Collective {
public:
    explicit NeighborAlltoallw(const CollectiveArguments &arguments)
        : Collective(arguments), pairs_(arguments), types_(pairs_.send().counts.size(), type()) {
        for (const int displacement : pairs_.send().displacements) {
            bytes_.push_back(displacement * static_cast<MPI_Aint>(arguments.elements->extent()));
        }
    }

    Layout layout(int) const override { return pairs_.layout(); }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Neighbor_alltoallw, neighbor_alltoallw), buffers.send, pairs_.send().counts.data(),
                         bytes_.data(), types_.data(), buffers.receive, pairs_.receive().counts.data(), bytes_.data(),
                         types_.data(), pairs_.comm());
    }

private:
    NeighborPairs pairs_;
    std::vector<MPI_Aint> bytes_; // displacements, of either buffer
    std::vector<MPI_Datatype> types_;
};

} // namespace

CollectiveInfo collectives::neighbor_alltoallw() {
    return {.name = "neighbor_alltoallw",
            .mpi_name = "Neighbor_alltoallw",
            .description = "one message from each rank to each of its neighbors, each with its own datatype",
            .size_meaning = "to each neighbor",
            .traits = {},
            .make = make_collective<NeighborAlltoallw>,
            .parameters = irregular_neighbor_parameters(),
            .reach = reach_neighbors,
            .fault = find_astray_irregular_blocks};
}

} // namespace bench
