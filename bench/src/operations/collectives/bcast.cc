#include "operations/collectives/collective.h"

namespace bench {
namespace {

class Bcast : public Collective {
public:
    using Collective::Collective;

    // One buffer: the root sends from where all others receive.
    Layout layout(int root) const override {
        Layout layout = a().rank == root ? bring(a().count, true) : Layout{};
        layout.receive = a().count;
        layout.result = {{0, a().count, 0, root, root}};
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Bcast, bcast), buffers.receive, count(), type(), root, a().comm);
    }
};

} // namespace

CollectiveInfo collectives::bcast() {
    return {.name = "bcast",
            .mpi_name = "Bcast",
            .description = "one message from the root to all",
            .size_meaning = "of the message",
            .traits = {.rooted = true},
            .make = make_collective<Bcast>};
}

} // namespace bench
