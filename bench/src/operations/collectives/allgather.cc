#include "operations/collectives/collective.h"
#include "operations/collectives/stale_copies.h"

namespace bench {
namespace {

class Allgather : public Collective {
public:
    using Collective::Collective;

    Layout layout(int) const override {
        Layout layout = bring(a().count, a().in_place, a().count * static_cast<std::uint64_t>(a().rank));
        for (int rank = 0; rank < a().ranks; ++rank) {
            layout.result.push_back({layout.receive, a().count, 0, rank, rank});
            layout.receive += a().count;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Allgather, allgather), buffers.send, count(), type(), buffers.receive, count(),
                         type(), a().comm);
    }
};

} // namespace

CollectiveInfo collectives::allgather() {
    return {.name = "allgather",
            .mpi_name = "Allgather",
            .description = "one message from each rank to all",
            .size_meaning = "from each rank",
            .traits = {.in_place = true},
            .make = make_collective<Allgather>,
            .reach = reach_all_ranks,
            .fault = find_stale_copies};
}

} // namespace bench
