#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Gatherv : public Collective {
public:
    explicit Gatherv(const CollectiveArguments &arguments)
        : Collective(arguments),
          blocks_(share(arguments, arguments.count * static_cast<std::uint64_t>(arguments.ranks))),
          own_(static_cast<std::size_t>(arguments.rank)) {}

    Layout layout(int root) const override {
        if (a().rank != root) {
            return bring(blocks_.count(own_));
        }
        Layout layout = bring(blocks_.count(own_), a().in_place, blocks_.at(own_));
        layout.receive = blocks_.end();
        layout.result = blocks_.from_each_rank();
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Gatherv, gatherv), buffers.send, blocks_.counts[own_], type(), buffers.receive,
                         blocks_.counts.data(), blocks_.displacements.data(), type(), root, a().comm);
    }

private:
    Blocks blocks_; // of the receive buffer
    std::size_t own_;
};

} // namespace

CollectiveInfo collectives::gatherv() {
    return {.name = "gatherv",
            .mpi_name = "Gatherv",
            .description = "one message from each rank to the root",
            .size_meaning = "from each rank",
            .traits = {.rooted = true, .in_place = true},
            .make = make_collective<Gatherv>,
            .parameters = {counts_parameter()},
            .reach = reach_all_ranks};
}

} // namespace bench
