#include "patterns/arrival_pattern.h"

namespace bench {

const std::vector<PatternInfo> &all_patterns() {
#define BENCH_LIST(name) patterns::name(),
    static const std::vector<PatternInfo> all = {BENCH_PATTERNS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
