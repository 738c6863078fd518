#include "operations/collectives/collective.h"

namespace bench {
namespace {

class ReduceScatterBlock : public Collective {
public:
    using Collective::Collective;

    Layout layout(int) const override {
        const std::uint64_t all = a().count * static_cast<std::uint64_t>(a().ranks);
        Layout layout = bring(all, a().in_place);
        layout.receive = a().in_place ? all : a().count;
        layout.result = {{0, a().count, a().count * static_cast<std::uint64_t>(a().rank), 0, a().ranks - 1}};
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Reduce_scatter_block, reduce_scatter_block), buffers.send, buffers.receive,
                         count(), type(), op(), a().comm);
    }
};

} // namespace

CollectiveInfo collectives::reduce_scatter_block() {
    return {.name = "reduce_scatter_block",
            .mpi_name = "Reduce_scatter_block",
            .description = "the vectors of all ranks combined; each rank gets an equal part of the result",
            .size_meaning = "of each rank's result",
            .traits = {.reduces = true, .in_place = true},
            .make = make_collective<ReduceScatterBlock>,
            .reach = reach_all_ranks};
}

} // namespace bench
