#include "operations/collectives/collective.h"

namespace bench {
namespace {

class ReduceLocal : public Collective {
public:
    using Collective::Collective;

    // The second vector, which becomes the result, is the one that the next rank would bring.
    Layout layout(int) const override {
        return {.send = a().count,
                .receive = a().count,
                .initial = {{0, a().count, 0, a().rank + 1, a().rank + 1}},
                .result = {{0, a().count, 0, a().rank, a().rank + 1}}};
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(Forms{MPI_Reduce_local, nullptr, nullptr}, buffers.send, buffers.receive, count(), type(),
                         op());
    }
};

} // namespace

CollectiveInfo collectives::reduce_local() {
    return {.name = "reduce_local",
            .mpi_name = "Reduce_local",
            .description = "two vectors of a rank combined, without communication",
            .size_meaning = "of each vector",
            .traits = {.reduces = true, .blocking_only = true},
            .make = make_collective<ReduceLocal>};
}

} // namespace bench
