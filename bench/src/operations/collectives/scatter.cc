#include "operations/collectives/collective.h"
#include "operations/collectives/stale_copies.h"

namespace bench {
namespace {

class Scatter : public Collective {
public:
    using Collective::Collective;

    // In place, the root leaves its own block where it is.
    Layout layout(int root) const override {
        Layout layout = a().rank == root ? bring(a().count * static_cast<std::uint64_t>(a().ranks)) : Layout{};
        if (!stays(root)) {
            layout.receive = a().count;
            layout.result.push_back({0, a().count, a().count * static_cast<std::uint64_t>(a().rank), root, root});
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Scatter, scatter), buffers.send, count(), type(),
                         stays(root) ? MPI_IN_PLACE : buffers.receive, count(), type(), root, a().comm);
    }

private:
    bool stays(int root) const { return a().in_place && a().rank == root; }
};

} // namespace

CollectiveInfo collectives::scatter() {
    return {.name = "scatter",
            .mpi_name = "Scatter",
            .description = "one message from the root to each rank",
            .size_meaning = "to each rank",
            .traits = {.rooted = true, .in_place = true},
            .make = make_collective<Scatter>,
            .reach = reach_all_ranks,
            .fault = find_stale_copies};
}

} // namespace bench
