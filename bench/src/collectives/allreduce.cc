#include "collective.h"
#include "collectives/forms.h"

namespace bench {
namespace {

class Allreduce : public Collective {
public:
    explicit Allreduce(const CollectiveArguments &arguments) : a_(arguments) {}

    Layout layout(int) const override {
        Layout layout{.send = a_.count, .receive = a_.count, .own = {}, .result = {{0, a_.count, 0, 0, a_.ranks - 1}}};
        if (a_.in_place) {
            layout.own = 0;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int) const override {
        return bind_call(BENCH_FORMS(Allreduce, allreduce), buffers.send, buffers.receive, static_cast<int>(a_.count),
                         a_.elements->type(), a_.elements->op(), a_.comm);
    }

private:
    CollectiveArguments a_;
};

} // namespace

CollectiveInfo collectives::allreduce() {
    return {.name = "allreduce",
            .mpi_name = "Allreduce",
            .description = "the vectors of all ranks combined, at all ranks",
            .size_meaning = "of each rank's vector",
            .traits = {.reduces = true, .in_place = true},
            .parameters = {},
            .make = [](const CollectiveArguments &arguments) -> std::unique_ptr<Collective> {
                return std::make_unique<Allreduce>(arguments);
            }};
}

} // namespace bench
