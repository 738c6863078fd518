#include "timings/timing.h"

namespace bench {

const std::vector<TimingInfo> &all_timings() {
#define BENCH_LIST(name) timings::name(),
    static const std::vector<TimingInfo> all = {BENCH_TIMINGS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

ComponentParameter calls_parameter() {
    return {"calls", "100", "calls of the operation per sample", ComponentValues::whole(1, 1e9)};
}

} // namespace bench
