#include "warmup_rule.h"

#include "names.h"

#include <gtest/gtest.h>
#include <random>

namespace bench {
namespace {

std::unique_ptr<WarmupRule> rule(const std::string &text) {
    const Part part = parse_part("warm-up rule", text, all_warmup_rules());
    return find_by_name(all_warmup_rules(), part.name()).make(part);
}

/// How many calls a rule discards where call i takes value(i).
template <typename Value> std::size_t discarded(const WarmupRule &warmup, Value value) {
    std::vector<double> times;
    while (const long count = warmup.next(times)) {
        for (long i = 0; i < count; ++i) {
            times.push_back(value(times.size()));
        }
    }
    return times.size();
}

double noise(std::mt19937_64 &random) { return 0.01 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5); }

TEST(WarmupRule, FixedRunsSoMany) {
    EXPECT_EQ(rule("fixed(calls=7)")->number(), 7);
    EXPECT_EQ(rule("fixed(calls=0)")->number(), 0);
    EXPECT_EQ(rule("stationary")->number(), std::nullopt);
}

TEST(WarmupRule, StationaryIsContentWithSteadyTimes) {
    std::mt19937_64 random(1);
    EXPECT_EQ(discarded(*rule("stationary"), [&](std::size_t) { return 1.0 + noise(random); }), 45U);
    EXPECT_EQ(discarded(*rule("stationary"), [](std::size_t) { return 1.0; }), 45U);
}

TEST(WarmupRule, StationaryWaitsForTheEndOfAStep) {
    std::mt19937_64 random(1);
    const auto step = [&](std::size_t i) { return (i < 30 ? 2.0 : 1.0) + noise(random); };
    const std::size_t count = discarded(*rule("stationary"), step);
    EXPECT_GE(count, 65U); // two windows of 20 lie behind the step, but for a part that medians do not see
    EXPECT_LE(count, 105U);
}

TEST(WarmupRule, StationarySeesATrendThatMediansDoNot) {
    // 1.5 % within two windows.
    const auto trend = [](std::size_t i) { return 1.0 - 0.000375 * static_cast<double>(i); };
    EXPECT_EQ(discarded(*rule("stationary"), trend), 200U);
}

TEST(WarmupRule, StationaryGivesUpInTheEnd) {
    EXPECT_EQ(
        discarded(*rule("stationary(max=73)"), [](std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i)); }),
        73U);
}

} // namespace
} // namespace bench
