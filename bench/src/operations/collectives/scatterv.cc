#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Scatterv : public Collective {
public:
    explicit Scatterv(const CollectiveArguments &arguments)
        : Collective(arguments),
          blocks_(share(arguments, arguments.count * static_cast<std::uint64_t>(arguments.ranks))),
          own_(static_cast<std::size_t>(arguments.rank)) {}

    // In place, the root leaves its own block where it is.
    Layout layout(int root) const override {
        Layout layout = a().rank == root ? bring(blocks_.end()) : Layout{};
        if (!stays(root)) {
            layout.receive = blocks_.count(own_);
            layout.result = {{0, blocks_.count(own_), blocks_.at(own_), root, root}};
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Scatterv, scatterv), buffers.send, blocks_.counts.data(),
                         blocks_.displacements.data(), type(), stays(root) ? MPI_IN_PLACE : buffers.receive,
                         blocks_.counts[own_], type(), root, a().comm);
    }

private:
    bool stays(int root) const { return a().in_place && a().rank == root; }

    Blocks blocks_; // of the send buffer
    std::size_t own_;
};

} // namespace

CollectiveInfo collectives::scatterv() {
    return {.name = "scatterv",
            .mpi_name = "Scatterv",
            .description = "one message from the root to each rank",
            .size_meaning = "to each rank",
            .traits = {.rooted = true, .in_place = true},
            .make = make_collective<Scatterv>,
            .parameters = {counts_parameter()},
            .reach = reach_all_ranks};
}

} // namespace bench
