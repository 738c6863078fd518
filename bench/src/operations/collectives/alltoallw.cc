#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Alltoallw : public Collective {
public:
    explicit Alltoallw(const CollectiveArguments &arguments)
        : Collective(arguments), blocks_(pair_blocks(arguments, arguments.rank)),
          types_(static_cast<std::size_t>(arguments.ranks), type()) {
        for (std::size_t rank = 0; rank < types_.size(); ++rank) {
            bytes_.push_back(static_cast<int>(blocks_.at(rank) * arguments.elements->extent()));
        }
    }

    Layout layout(int) const override {
        Layout layout = bring(blocks_.end(), a().in_place);
        layout.receive = blocks_.end();
        layout.result = pair_results(a());
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Alltoallw, alltoallw), buffers.send, blocks_.counts.data(), bytes_.data(),
                         types_.data(), buffers.receive, blocks_.counts.data(), bytes_.data(), types_.data(), a().comm);
    }

private:
    Blocks blocks_;          // of either buffer
    std::vector<int> bytes_; // displacements
    std::vector<MPI_Datatype> types_;
};

} // namespace

CollectiveInfo collectives::alltoallw() {
    return {.name = "alltoallw",
            .mpi_name = "Alltoallw",
            .description = "one message from each rank to every rank, each with its own datatype",
            .size_meaning = "from each to each",
            .traits = {.in_place = true, .byte_displacements = true},
            .make = make_collective<Alltoallw>,
            .parameters = {counts_parameter()},
            .reach = reach_pairs};
}

} // namespace bench
