#include "operations/collectives/collective.h"
#include "operations/collectives/stale_copies.h"

namespace bench {
namespace {

class Gather : public Collective {
public:
    using Collective::Collective;

    Layout layout(int root) const override {
        if (a().rank != root) {
            return bring(a().count);
        }
        Layout layout = bring(a().count, a().in_place, a().count * static_cast<std::uint64_t>(root));
        for (int rank = 0; rank < a().ranks; ++rank) {
            layout.result.push_back({layout.receive, a().count, 0, rank, rank});
            layout.receive += a().count;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Gather, gather), buffers.send, count(), type(), buffers.receive, count(), type(),
                         root, a().comm);
    }
};

} // namespace

CollectiveInfo collectives::gather() {
    return {.name = "gather",
            .mpi_name = "Gather",
            .description = "one message from each rank to the root",
            .size_meaning = "from each rank",
            .traits = {.rooted = true, .in_place = true},
            .make = make_collective<Gather>,
            .reach = reach_all_ranks,
            .fault = find_stale_copies};
}

} // namespace bench
