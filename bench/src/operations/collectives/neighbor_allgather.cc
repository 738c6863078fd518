#include "operations/collectives/collective.h"
#include "operations/collectives/neighbors.h"

namespace bench {
namespace {

class NeighborAllgather : public Collective {
public:
    explicit NeighborAllgather(const CollectiveArguments &arguments) : Collective(arguments), neighbors_(arguments) {}

    Layout layout(int) const override {
        Layout layout = bring(a().count);
        for (const auto &[rank, block] : neighbors_.sources()) {
            layout.result.push_back({layout.receive, a().count, 0, rank, rank});
            layout.receive += a().count;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Neighbor_allgather, neighbor_allgather), buffers.send, count(), type(),
                         buffers.receive, count(), type(), neighbors_.comm());
    }

private:
    Neighbors neighbors_;
};

} // namespace

CollectiveInfo collectives::neighbor_allgather() {
    return {.name = "neighbor_allgather",
            .mpi_name = "Neighbor_allgather",
            .description = "one message from each rank to all its neighbors",
            .size_meaning = "from each rank",
            .traits = {},
            .make = make_collective<NeighborAllgather>,
            .parameters = neighbor_parameters(),
            .reach = reach_neighbors};
}

} // namespace bench
