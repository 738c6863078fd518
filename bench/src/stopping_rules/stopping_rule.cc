#include "stopping_rules/stopping_rule.h"

namespace bench {

const std::vector<StoppingRuleInfo> &all_stopping_rules() {
#define BENCH_LIST(name) stopping_rules::name(),
    static const std::vector<StoppingRuleInfo> all = {BENCH_STOPPING_RULES(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
