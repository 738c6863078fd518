#include "collective.h"
#include "collectives/forms.h"

namespace bench {
namespace {

class Barrier : public Collective {
public:
    explicit Barrier(const CollectiveArguments &arguments) : comm_(arguments.comm) {}
    Layout layout(int) const override { return {}; }
    std::unique_ptr<Call> bind(const CallBuffers &, int) const override {
        return bind_call(BENCH_FORMS(Barrier, barrier), comm_);
    }

private:
    MPI_Comm comm_;
};

} // namespace

CollectiveInfo collectives::barrier() {
    return {.name = "barrier",
            .mpi_name = "Barrier",
            .description = "nobody leaves before all have entered",
            .size_meaning = "",
            .traits = {},
            .parameters = {},
            .make = [](const CollectiveArguments &arguments) -> std::unique_ptr<Collective> {
                return std::make_unique<Barrier>(arguments);
            }};
}

} // namespace bench
