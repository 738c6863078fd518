#include "synchronizers/message_barrier.h"

namespace bench {
namespace {

class Bruck : public MessageBarrier {
public:
    using MessageBarrier::MessageBarrier;

private:
    void barrier() override {
        for (int distance = 1; distance < size(); distance *= 2) {
            exchange((rank() + distance) % size(), (rank() + size() - distance) % size());
        }
    }
};

} // namespace

SynchronizerInfo synchronizers::bruck() {
    return {{"bruck",
             "dissemination: each rank notifies the one 1, 2, 4, ... ahead, modulo the number of ranks",
             "Hensgen, Finkel and Manber 1988; Schuchart 2023, section 2.1",
             {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<Bruck>(arguments);
            }};
}

} // namespace bench
