#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Alltoallv : public Collective {
public:
    explicit Alltoallv(const CollectiveArguments &arguments)
        : Collective(arguments), blocks_(pair_blocks(arguments, arguments.rank)) {}

    Layout layout(int) const override {
        Layout layout = bring(blocks_.end(), a().in_place);
        layout.receive = blocks_.end();
        layout.result = pair_results(a());
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Alltoallv, alltoallv), buffers.send, blocks_.counts.data(),
                         blocks_.displacements.data(), type(), buffers.receive, blocks_.counts.data(),
                         blocks_.displacements.data(), type(), a().comm);
    }

private:
    Blocks blocks_; // of either buffer
};

} // namespace

CollectiveInfo collectives::alltoallv() {
    return {.name = "alltoallv",
            .mpi_name = "Alltoallv",
            .description = "one message from each rank to every rank",
            .size_meaning = "from each to each",
            .traits = {.in_place = true},
            .make = make_collective<Alltoallv>,
            .parameters = {counts_parameter()},
            .reach = reach_pairs};
}

} // namespace bench
