#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Alltoall : public Collective {
public:
    using Collective::Collective;

    Layout layout(int) const override {
        Layout layout = bring(a().count * static_cast<std::uint64_t>(a().ranks), a().in_place);
        for (int rank = 0; rank < a().ranks; ++rank) {
            layout.result.push_back(
                {layout.receive, a().count, a().count * static_cast<std::uint64_t>(a().rank), rank, rank});
            layout.receive += a().count;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Alltoall, alltoall), buffers.send, count(), type(), buffers.receive, count(),
                         type(), a().comm);
    }
};

} // namespace

CollectiveInfo collectives::alltoall() {
    return {.name = "alltoall",
            .mpi_name = "Alltoall",
            .description = "one message from each rank to every rank",
            .size_meaning = "from each to each",
            .traits = {.in_place = true},
            .make = make_collective<Alltoall>,
            .reach = reach_all_ranks};
}

} // namespace bench
