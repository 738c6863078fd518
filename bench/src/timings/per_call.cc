#include "timings/timing.h"

namespace bench {
namespace {

class PerCall : public Timing {
public:
    Stamps run(Operation &operation, Synchronizer &, const StampClock &clock) override {
        const std::int64_t entry = clock.read();
        operation.run();
        return {entry, clock.read()};
    }
};

std::unique_ptr<Timing> make(const Component &) { return std::make_unique<PerCall>(); }

} // namespace

TimingInfo timings::per_call() {
    return {{"per_call", "synchronize and time every call", "Hunold 2015, Fig. 2 (1); OSU", {}}, make};
}

// What differs is the synchronizer.
TimingInfo timings::window() {
    return {{"window",
             "time every call at the start of its own window; needs synchronizer window",
             "Hunold 2015, Fig. 2 (4); SKaMPI, NBCBench",
             {}},
            make};
}

} // namespace bench
