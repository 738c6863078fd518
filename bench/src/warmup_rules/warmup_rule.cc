#include "warmup_rules/warmup_rule.h"

namespace bench {

const std::vector<WarmupRuleInfo> &all_warmup_rules() {
#define BENCH_LIST(name) warmup_rules::name(),
    static const std::vector<WarmupRuleInfo> all = {BENCH_WARMUP_RULES(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
