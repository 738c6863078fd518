#include "metrics/metric.h"

namespace bench {

const std::vector<Metric> &all_metrics() {
#define BENCH_LIST(name) metrics::name(),
    static const std::vector<Metric> all = {BENCH_METRICS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
