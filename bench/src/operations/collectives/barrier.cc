#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Barrier : public Collective {
public:
    using Collective::Collective;
    Layout layout(int) const override { return {}; }
    std::unique_ptr<Call> bind(const CallBuffers &, int) const override {
        return bind_call(BENCH_FORMS(Barrier, barrier), a().comm);
    }
};

} // namespace

CollectiveInfo collectives::barrier() {
    return {.name = "barrier",
            .mpi_name = "Barrier",
            .description = "no rank leaves before all have entered",
            .size_meaning = "",
            .traits = {},
            .make = make_collective<Barrier>};
}

} // namespace bench
