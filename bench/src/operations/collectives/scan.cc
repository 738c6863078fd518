#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Scan : public Collective {
public:
    using Collective::Collective;

    Layout layout(int) const override {
        Layout layout = bring(a().count, a().in_place);
        layout.receive = a().count;
        layout.result = {{0, a().count, 0, 0, a().rank}};
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Scan, scan), buffers.send, buffers.receive, count(), type(), op(), a().comm);
    }
};

} // namespace

CollectiveInfo collectives::scan() {
    return {.name = "scan",
            .mpi_name = "Scan",
            .description = "each rank gets the combined vectors of all ranks up to its own",
            .size_meaning = "of each rank's vector",
            .traits = {.reduces = true, .in_place = true},
            .make = make_collective<Scan>};
}

} // namespace bench
