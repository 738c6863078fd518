#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Exscan : public Collective {
public:
    using Collective::Collective;

    Layout layout(int) const override {
        Layout layout = bring(a().count, a().in_place);
        layout.receive = a().count;
        if (a().rank > 0) { // what rank 0 receives is not defined
            layout.result = {{0, a().count, 0, 0, a().rank - 1}};
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Exscan, exscan), buffers.send, buffers.receive, count(), type(), op(), a().comm);
    }
};

} // namespace

CollectiveInfo collectives::exscan() {
    return {.name = "exscan",
            .mpi_name = "Exscan",
            .description = "each rank gets the combined vectors of all ranks before it",
            .size_meaning = "of each rank's vector",
            .traits = {.reduces = true, .in_place = true},
            .make = make_collective<Exscan>};
}

} // namespace bench
