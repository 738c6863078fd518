#include "synchronizers/message_barrier.h"

namespace bench {
namespace {

/// The first round gathers, the second releases. Rank 0 waits for the end of the second too, so that its message is not
/// mistaken for one of the next barrier.
class DoubleRing : public MessageBarrier {
public:
    using MessageBarrier::MessageBarrier;

private:
    void barrier() override {
        if (size() == 1) {
            return;
        }
        const int left = (rank() + size() - 1) % size();
        const int right = (rank() + 1) % size();
        for (int round = 0; round < 2; ++round) {
            if (rank() != 0) {
                receive(left);
            }
            send(right);
            if (rank() == 0) {
                receive(left);
            }
        }
    }
};

} // namespace

SynchronizerInfo synchronizers::double_ring() {
    return {{"double_ring", "a token goes twice around the ring of ranks", "Schuchart 2023, section 2.1", {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<DoubleRing>(arguments);
            }};
}

} // namespace bench
