#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Allgatherv : public Collective {
public:
    explicit Allgatherv(const CollectiveArguments &arguments)
        : Collective(arguments),
          blocks_(share(arguments, arguments.count * static_cast<std::uint64_t>(arguments.ranks))),
          own_(static_cast<std::size_t>(arguments.rank)) {}

    Layout layout(int) const override {
        Layout layout = bring(blocks_.count(own_), a().in_place, blocks_.at(own_));
        layout.receive = blocks_.end();
        layout.result = blocks_.from_each_rank();
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Allgatherv, allgatherv), buffers.send, blocks_.counts[own_], type(),
                         buffers.receive, blocks_.counts.data(), blocks_.displacements.data(), type(), a().comm);
    }

private:
    Blocks blocks_; // of the receive buffer
    std::size_t own_;
};

} // namespace

CollectiveInfo collectives::allgatherv() {
    return {.name = "allgatherv",
            .mpi_name = "Allgatherv",
            .description = "one message from each rank to all",
            .size_meaning = "from each rank",
            .traits = {.in_place = true},
            .make = make_collective<Allgatherv>,
            .parameters = {counts_parameter()},
            .reach = reach_all_ranks};
}

} // namespace bench
