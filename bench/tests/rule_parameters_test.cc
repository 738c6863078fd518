#include "stopping_rules/stopping_rule.h"
#include "warmup_rules/warmup_rule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bench {
namespace {

/// "budget.time=1s" with its limits, for each parameter of a registry.
struct Parameter {
    std::string text;
    double low;
    double high;
    bool operator==(const Parameter &) const = default;
};

void PrintTo(const Parameter &parameter, std::ostream *out) {
    *out << fmt::format("{} from {} to {}", parameter.text, parameter.low, parameter.high);
}

template <typename Registry> std::vector<Parameter> parameters_of(const Registry &registry) {
    std::vector<Parameter> found;
    for (const auto &entry : registry) {
        for (const ComponentParameter &one : entry.parameters) {
            found.push_back(
                {fmt::format("{}.{}={}", entry.name, one.name, one.value), one.values.low, one.values.high});
        }
    }
    return found;
}

TEST(RuleParameters, StoppingRules) {
    EXPECT_EQ(parameters_of(all_stopping_rules()), (std::vector<Parameter>{{"fixed.samples=1000", 1, 1e9},
                                                                           {"budget.time=1s", 1e-6, 1e6},
                                                                           {"budget.most=1000000", 1, 1e9},
                                                                           {"precision.width=0.02", 1e-6, 1},
                                                                           {"precision.metric=latency_avg", 0, 0},
                                                                           {"precision.confidence=0.95", 0.5, 0.9999},
                                                                           {"precision.min=200", 5, 1e9},
                                                                           {"precision.max=100000", 5, 1e9},
                                                                           {"precision.block=20", 1, 1e6}}));
}

TEST(RuleParameters, WarmupRules) {
    EXPECT_EQ(parameters_of(all_warmup_rules()), (std::vector<Parameter>{{"fixed.calls=10", 0, 1e6},
                                                                         {"stationary.min=5", 0, 1e6},
                                                                         {"stationary.window=20", 4, 1e5},
                                                                         {"stationary.change=0.02", 1e-6, 1},
                                                                         {"stationary.max=200", 1, 1e6}}));
}

} // namespace
} // namespace bench
