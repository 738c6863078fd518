#include "operations/collectives/blocks.h"
#include "operations/collectives/collective.h"

namespace bench {
namespace {

class ReduceScatter : public Collective {
public:
    explicit ReduceScatter(const CollectiveArguments &arguments)
        : Collective(arguments), blocks_(share(arguments, arguments.count)),
          own_(static_cast<std::size_t>(arguments.rank)) {}

    Layout layout(int) const override {
        Layout layout = bring(a().count, a().in_place);
        layout.receive = a().in_place ? a().count : blocks_.count(own_);
        layout.result = {{0, blocks_.count(own_), blocks_.at(own_), 0, a().ranks - 1}};
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Reduce_scatter, reduce_scatter), buffers.send, buffers.receive,
                         blocks_.counts.data(), type(), op(), a().comm);
    }

private:
    Blocks blocks_; // of the vector
    std::size_t own_;
};

} // namespace

CollectiveInfo collectives::reduce_scatter() {
    return {.name = "reduce_scatter",
            .mpi_name = "Reduce_scatter",
            .description = "the vectors of all ranks combined; each rank gets a part of the result",
            .size_meaning = "of each rank's vector",
            .traits = {.reduces = true, .in_place = true},
            .make = make_collective<ReduceScatter>,
            .parameters = {counts_parameter()}};
}

} // namespace bench
