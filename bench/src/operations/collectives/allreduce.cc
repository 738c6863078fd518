#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Allreduce : public Collective {
public:
    using Collective::Collective;

    Layout layout(int) const override {
        Layout layout = bring(a().count, a().in_place);
        layout.receive = a().count;
        layout.result = {{0, a().count, 0, 0, a().ranks - 1}};
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Allreduce, allreduce), buffers.send, buffers.receive, count(), type(), op(),
                         a().comm);
    }
};

} // namespace

CollectiveInfo collectives::allreduce() {
    return {.name = "allreduce",
            .mpi_name = "Allreduce",
            .description = "the vectors of all ranks combined; all ranks get the result",
            .size_meaning = "of each rank's vector",
            .traits = {.reduces = true, .in_place = true},
            .make = make_collective<Allreduce>};
}

} // namespace bench
