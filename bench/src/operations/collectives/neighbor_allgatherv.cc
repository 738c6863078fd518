#include "operations/collectives/collective.h"
#include "operations/collectives/neighbors.h"

namespace bench {
namespace {

class NeighborAllgatherv : public Collective {
public:
    explicit NeighborAllgatherv(const CollectiveArguments &arguments) : Collective(arguments), neighbors_(arguments) {
        const Blocks shares = share(arguments, arguments.count * static_cast<std::uint64_t>(arguments.ranks));
        own_ = shares.count(static_cast<std::size_t>(arguments.rank));
        for (const auto &source : neighbors_.sources()) {
            receive_.add(shares.count(static_cast<std::size_t>(source.rank)));
        }
    }

    Layout layout(int) const override {
        Layout layout = bring(own_);
        layout.receive = receive_.end();
        for (std::size_t i = 0; i < neighbors_.sources().size(); ++i) {
            const int rank = neighbors_.sources()[i].rank;
            layout.result.push_back({receive_.at(i), receive_.count(i), 0, rank, rank});
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Neighbor_allgatherv, neighbor_allgatherv), buffers.send, static_cast<int>(own_),
                         type(), buffers.receive, receive_.counts.data(), receive_.displacements.data(), type(),
                         neighbors_.comm());
    }

private:
    Neighbors neighbors_;
    std::uint64_t own_; // elements
    Blocks receive_;
};

} // namespace

CollectiveInfo collectives::neighbor_allgatherv() {
    return {.name = "neighbor_allgatherv",
            .mpi_name = "Neighbor_allgatherv",
            .description = "one message from each rank to all its neighbors",
            .size_meaning = "from each rank",
            .traits = {},
            .make = make_collective<NeighborAllgatherv>,
            .parameters = irregular_neighbor_parameters(),
            .reach = reach_neighbors};
}

} // namespace bench
