#include "synchronizers/synchronizer.h"

namespace bench {

const std::vector<SynchronizerInfo> &all_synchronizers() {
#define BENCH_LIST(name) synchronizers::name(),
    static const std::vector<SynchronizerInfo> all = {BENCH_SYNCHRONIZERS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

const std::vector<SynchronizerInfo> &all_barriers() {
#define BENCH_LIST(name) synchronizers::name(),
    static const std::vector<SynchronizerInfo> all = {BENCH_BARRIERS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
