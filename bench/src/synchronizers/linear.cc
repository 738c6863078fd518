#include "synchronizers/message_barrier.h"

namespace bench {
namespace {

class Linear : public MessageBarrier {
public:
    using MessageBarrier::MessageBarrier;

private:
    void barrier() override {
        if (rank() != 0) {
            send(0);
            receive(0);
            return;
        }
        for (int other = 1; other < size(); ++other) {
            receive(other);
        }
        for (int other = 1; other < size(); ++other) {
            send(other);
        }
    }
};

} // namespace

SynchronizerInfo synchronizers::linear() {
    return {{"linear", "all ranks report to rank 0, which releases them one by one", "Schuchart 2023, section 2.1", {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<Linear>(arguments);
            }};
}

} // namespace bench
