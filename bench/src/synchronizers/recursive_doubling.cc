#include "synchronizers/message_barrier.h"

#include <bit>

namespace bench {
namespace {

/// Ranks at and above the largest power of two are represented by partners below it.
class RecursiveDoubling : public MessageBarrier {
public:
    using MessageBarrier::MessageBarrier;

private:
    void barrier() override {
        const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size())));
        if (rank() >= power) {
            send(rank() - power);
            receive(rank() - power);
            return;
        }
        const bool represents = rank() + power < size();
        if (represents) {
            receive(rank() + power);
        }
        for (int distance = 1; distance < power; distance *= 2) {
            exchange(rank() ^ distance, rank() ^ distance);
        }
        if (represents) {
            send(rank() + power);
        }
    }
};

} // namespace

SynchronizerInfo synchronizers::recursive_doubling() {
    return {{"recursive_doubling",
             "pairs of ranks exchange messages, at distances 1, 2, 4, ...",
             "Schuchart 2023, section 2.1",
             {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<RecursiveDoubling>(arguments);
            }};
}

} // namespace bench
