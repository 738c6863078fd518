#include "timings/timing.h"

namespace bench {
namespace {

class BatchSynced : public Timing {
public:
    explicit BatchSynced(long calls) : calls_(calls) {}
    Stamps run(Operation &operation, Synchronizer &synchronizer, const StampClock &clock) override {
        const std::int64_t entry = clock.read();
        for (long i = 0; i < calls_; ++i) {
            operation.run();
            synchronizer.start(0.0); // its time counts: that is the scheme's error, and results must show it
        }
        return {entry, clock.read()};
    }
    long calls() const override { return calls_; }
    bool synchronizes() const override { return true; }

private:
    long calls_;
};

} // namespace

TimingInfo timings::batch_synced() {
    return {{"batch_synced",
             "time many calls, each followed by the synchronizer; the synchronizer's time counts",
             "Hunold 2015, Fig. 2 (3); Phloem, mpiBench",
             {calls_parameter()}},
            [](const Component &component) -> std::unique_ptr<Timing> {
                return std::make_unique<BatchSynced>(component.whole("calls"));
            }};
}

} // namespace bench
