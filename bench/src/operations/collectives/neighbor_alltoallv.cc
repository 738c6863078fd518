#include "operations/collectives/collective.h"
#include "operations/collectives/neighbors.h"

namespace bench {
namespace {

class NeighborAlltoallv : public Collective {
public:
    explicit NeighborAlltoallv(const CollectiveArguments &arguments) : Collective(arguments), pairs_(arguments) {}

    Layout layout(int) const override { return pairs_.layout(); }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Neighbor_alltoallv, neighbor_alltoallv), buffers.send, pairs_.send().counts.data(),
                         pairs_.send().displacements.data(), type(), buffers.receive, pairs_.receive().counts.data(),
                         pairs_.receive().displacements.data(), type(), pairs_.comm());
    }

private:
    NeighborPairs pairs_;
};

} // namespace

CollectiveInfo collectives::neighbor_alltoallv() {
    return {.name = "neighbor_alltoallv",
            .mpi_name = "Neighbor_alltoallv",
            .description = "one message from each rank to each of its neighbors",
            .size_meaning = "to each neighbor",
            .traits = {},
            .make = make_collective<NeighborAlltoallv>,
            .parameters = irregular_neighbor_parameters(),
            .reach = reach_neighbors,
            .fault = find_astray_irregular_blocks};
}

} // namespace bench
