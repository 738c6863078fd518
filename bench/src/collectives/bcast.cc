#include "collective.h"
#include "collectives/forms.h"

namespace bench {
namespace {

class Bcast : public Collective {
public:
    explicit Bcast(const CollectiveArguments &arguments) : a_(arguments) {}

    // One buffer: the root's contribution stands where all others receive it.
    Layout layout(int root) const override {
        Layout layout{.send = 0, .receive = a_.count, .own = {}, .result = {{0, a_.count, 0, root, root}}};
        if (a_.rank == root) {
            layout.send = a_.count;
            layout.own = 0;
        }
        return layout;
    }

    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const override {
        return bind_call(BENCH_FORMS(Bcast, bcast), buffers.receive, static_cast<int>(a_.count), a_.elements->type(),
                         root, a_.comm);
    }

private:
    CollectiveArguments a_;
};

} // namespace

CollectiveInfo collectives::bcast() {
    return {.name = "bcast",
            .mpi_name = "Bcast",
            .description = "one message from the root to all",
            .size_meaning = "of the message",
            .traits = {.rooted = true},
            .parameters = {},
            .make = [](const CollectiveArguments &arguments) -> std::unique_ptr<Collective> {
                return std::make_unique<Bcast>(arguments);
            }};
}

} // namespace bench
