#include "synchronizers/message_barrier.h"

namespace bench {
namespace {

class Tree : public MessageBarrier {
public:
    using MessageBarrier::MessageBarrier;

private:
    void barrier() override {
        int distance = 1;
        for (; distance < size() && (rank() & distance) == 0; distance *= 2) {
            if (rank() + distance < size()) {
                receive(rank() + distance);
            }
        }
        if (rank() != 0) {
            send(rank() - distance);
            receive(rank() - distance);
        }
        // The largest subtree first: its ranks have the longest way to go.
        for (distance /= 2; distance > 0; distance /= 2) {
            if (rank() + distance < size()) {
                send(rank() + distance);
            }
        }
    }
};

} // namespace

SynchronizerInfo synchronizers::tree() {
    return {{"tree", "gathers up a binomial tree and releases down the same tree", "Schuchart 2023, section 2.1", {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<Tree>(arguments);
            }};
}

} // namespace bench
