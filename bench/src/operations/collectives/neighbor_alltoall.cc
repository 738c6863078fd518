#include "operations/collectives/collective.h"
#include "operations/collectives/neighbors.h"

namespace bench {
namespace {

class NeighborAlltoall : public Collective {
public:
    explicit NeighborAlltoall(const CollectiveArguments &arguments) : Collective(arguments), neighbors_(arguments) {}

    Layout layout(int) const override {
        Layout layout = bring(a().count * neighbors_.destinations().size());
        for (const auto &[rank, block] : neighbors_.sources()) {
            layout.result.push_back(
                {layout.receive, a().count, a().count * static_cast<std::uint64_t>(block), rank, rank});
            layout.receive += a().count;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Neighbor_alltoall, neighbor_alltoall), buffers.send, count(), type(),
                         buffers.receive, count(), type(), neighbors_.comm());
    }

private:
    Neighbors neighbors_;
};

} // namespace

CollectiveInfo collectives::neighbor_alltoall() {
    return {.name = "neighbor_alltoall",
            .mpi_name = "Neighbor_alltoall",
            .description = "one message from each rank to each of its neighbors",
            .size_meaning = "to each neighbor",
            .traits = {},
            .make = make_collective<NeighborAlltoall>,
            .parameters = neighbor_parameters(),
            .reach = reach_neighbors,
            .fault = find_astray_blocks};
}

} // namespace bench
