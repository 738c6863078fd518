#include "synchronizers/barrier_synchronizer.h"

namespace bench {
namespace {

class None : public BarrierSynchronizer {
public:
    using BarrierSynchronizer::BarrierSynchronizer;

private:
    void barrier() override {}
};

} // namespace

SynchronizerInfo synchronizers::none() {
    return {{"none",
             "no synchronization: each rank starts as soon as it has finished the previous operation",
             "Hoefler 2008, listing 2",
             {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<None>(arguments);
            }};
}

} // namespace bench
