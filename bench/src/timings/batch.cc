#include "timings/timing.h"

namespace bench {
namespace {

class Batched : public Timing {
public:
    explicit Batched(long calls) : calls_(calls) {}
    Stamps run(Operation &operation, Synchronizer &, const StampClock &clock) override {
        const std::int64_t entry = clock.read();
        operation.repeat(calls_);
        return {entry, clock.read()};
    }
    long calls() const override { return calls_; }

private:
    long calls_;
};

} // namespace

TimingInfo timings::batch() {
    return {{"batch",
             "synchronize once, time many calls in a row; calls overlap (pipelining)",
             "Hunold 2015, Fig. 2 (2); Hoefler 2008, listings 1 to 3; mpptest, IMB, MPBench",
             {calls_parameter()}},
            [](const Component &component) -> std::unique_ptr<Timing> {
                return std::make_unique<Batched>(component.whole("calls"));
            }};
}

} // namespace bench
