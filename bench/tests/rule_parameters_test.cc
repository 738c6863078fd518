#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bench {
namespace {

/// "budget.time=1s from 1e-06 to 1e+06" for each parameter of a registry.
template <typename Registry> std::vector<std::string> parameters_of(const Registry &registry) {
    std::vector<std::string> found;
    for (const auto &entry : registry) {
        for (const ComponentParameter &one : entry.parameters) {
            found.push_back(fmt::format("{}.{}={} from {:g} to {:g}", entry.name, one.name, one.value, one.values.low,
                                        one.values.high));
        }
    }
    return found;
}

TEST(RuleParameters, StoppingRules) {
    EXPECT_EQ(
        parameters_of(all_stopping_rules()),
        (std::vector<std::string>{"fixed.samples=1000 from 1 to 1e+09", "budget.time=1s from 1e-06 to 1e+06",
                                  "budget.most=1000000 from 1 to 1e+09", "precision.width=0.02 from 1e-06 to 1",
                                  "precision.metric=latency_avg from 0 to 0",
                                  "precision.confidence=0.95 from 0.5 to 0.9999", "precision.min=200 from 5 to 1e+09",
                                  "precision.max=100000 from 5 to 1e+09", "precision.block=20 from 1 to 1e+06"}));
}

TEST(RuleParameters, WarmupRules) {
    EXPECT_EQ(
        parameters_of(all_warmup_rules()),
        (std::vector<std::string>{"fixed.calls=10 from 0 to 1e+06", "stationary.min=5 from 0 to 1e+06",
                                  "stationary.window=20 from 4 to 100000", "stationary.change=0.02 from 1e-06 to 1",
                                  "stationary.max=200 from 1 to 1e+06"}));
}

} // namespace
} // namespace bench
