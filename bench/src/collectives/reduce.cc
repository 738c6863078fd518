#include "collective.h"
#include "collectives/forms.h"

namespace bench {
namespace {

class Reduce : public Collective {
public:
    explicit Reduce(const CollectiveArguments &arguments) : a_(arguments) {}

    Layout layout(int root) const override {
        Layout layout{.send = a_.count, .receive = 0, .own = {}, .result = {}};
        if (a_.rank == root) {
            layout.receive = a_.count;
            layout.result = {{0, a_.count, 0, 0, a_.ranks - 1}};
            if (a_.in_place) {
                layout.own = 0;
            }
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Reduce, reduce), buffers.send, buffers.receive, static_cast<int>(a_.count),
                         a_.elements->type(), a_.elements->op(), root, a_.comm);
    }

private:
    CollectiveArguments a_;
};

} // namespace

CollectiveInfo collectives::reduce() {
    return {.name = "reduce",
            .mpi_name = "Reduce",
            .description = "the vectors of all ranks combined, at the root",
            .size_meaning = "of each rank's vector",
            .traits = {.rooted = true, .reduces = true, .in_place = true},
            .parameters = {},
            .make = [](const CollectiveArguments &arguments) -> std::unique_ptr<Collective> {
                return std::make_unique<Reduce>(arguments);
            }};
}

} // namespace bench
