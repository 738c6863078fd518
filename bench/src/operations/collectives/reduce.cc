#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Reduce : public Collective {
public:
    using Collective::Collective;

    Layout layout(int root) const override {
        if (a().rank != root) {
            return bring(a().count);
        }
        Layout layout = bring(a().count, a().in_place);
        layout.receive = a().count;
        layout.result = {{0, a().count, 0, 0, a().ranks - 1}};
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Reduce, reduce), buffers.send, buffers.receive, count(), type(), op(), root,
                         a().comm);
    }
};

} // namespace

CollectiveInfo collectives::reduce() {
    return {.name = "reduce",
            .mpi_name = "Reduce",
            .description = "the vectors of all ranks combined; the root gets the result",
            .size_meaning = "of each rank's vector",
            .traits = {.rooted = true, .reduces = true, .in_place = true},
            .make = make_collective<Reduce>};
}

} // namespace bench
