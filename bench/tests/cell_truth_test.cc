// The numbers of a cell, against loops over the raw stamps that follow the definitions and share nothing with the code.
#include "rules/cell.h"

#include "fixture.h"
#include "rules/metric.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace bench {
namespace {

using Values = std::vector<double>; // of one sample, by rank

double sum(const Values &values) {
    double total = 0.0;
    for (const double value : values) {
        total += value;
    }
    return total;
}

double mean(const Values &values) { return sum(values) / static_cast<double>(values.size()); }
double largest(const Values &values) { return *std::max_element(values.begin(), values.end()); }
double smallest(const Values &values) { return *std::min_element(values.begin(), values.end()); }

/// The median of an odd number of values.
double middle(Values values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

Values minus(Values a, const Values &b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] -= b[i];
    }
    return a;
}

Values each(Values values, double divisor) {
    for (double &value : values) {
        value /= divisor;
    }
    return values;
}

/// One attempt as it was drawn.
struct Drawn {
    double deadline;
    double slack;
    Values entry;
    Values exit;
    Values delay;
    Values computed;
    Verdict verdict;
};

constexpr std::size_t ranks = 5;
constexpr std::size_t observed = 3;
constexpr long calls = 4;
const std::vector<std::size_t> timed = {1, 3, 4};

class Draw {
public:
    explicit Draw(unsigned seed) : random_(seed) {}

    double number(double low, double high) {
        return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
    }

    Values row(double low, double high) {
        Values values;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            values.push_back(number(low, high));
        }
        return values;
    }

    Drawn attempt(Verdict verdict, bool has_deadline) {
        Drawn drawn{.deadline = has_deadline ? number(9, 10) : none,
                    .slack = has_deadline ? number(1, 2) : none,
                    .entry = row(10, 12),
                    .exit = row(13, 30),
                    .delay = row(0, 1),
                    .computed = row(0.5, 1.5),
                    .verdict = verdict};
        return drawn;
    }

private:
    std::mt19937_64 random_;
};

Batch batch_of(const std::vector<Drawn> &attempts) {
    Batch batch = samples(ranks, {}, {}, {}, {}, {});
    for (const Drawn &drawn : attempts) {
        batch.deadline.push_back(drawn.deadline);
        batch.slack.push_back(drawn.slack);
        batch.end.push_back(none);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            batch.sync_entry.push_back(drawn.entry[rank] - 1.0);
            batch.entry.push_back(drawn.entry[rank]);
            batch.exit.push_back(drawn.exit[rank]);
            batch.delay.push_back(drawn.delay[rank]);
            batch.computed.push_back(drawn.computed[rank]);
            batch.flag.push_back(1);
            batch.unsure.push_back(0);
        }
    }
    batch.timed = timed;
    batch.observed = observed;
    batch.calls = calls;
    return batch;
}

/// Every metric of a sample.
std::map<std::string, double> metrics_of(const Drawn &drawn) {
    const Values in = each(minus(drawn.exit, drawn.entry), calls);
    Values counted;
    for (const std::size_t rank : timed) {
        counted.push_back(in[rank]);
    }
    const Values starts = minus(drawn.entry, drawn.delay);
    Values apart = minus(drawn.entry, Values(ranks, mean(drawn.entry)));
    for (double &value : apart) {
        value = std::abs(value);
    }
    const double last = largest(drawn.exit);
    const double start = std::isnan(drawn.deadline) ? smallest(drawn.entry) : drawn.deadline;
    return {{"latency_avg", mean(counted)},
            {"latency_max", largest(counted)},
            {"latency_min", smallest(counted)},
            {"latency_observed", in[observed]},
            {"global_time", (last - smallest(drawn.entry)) / calls},
            {"makespan", (last - start) / calls},
            {"after_last_entry", (last - largest(drawn.entry)) / calls},
            {"exit_skew", largest(starts) - smallest(starts)},
            {"end_skew", last - smallest(drawn.exit)},
            {"imbalance_worst", largest(drawn.entry) - smallest(drawn.entry)},
            {"imbalance_mean", mean(apart)}};
}

class CellTruth : public testing::TestWithParam<bool> {
protected:
    /// Three blocks of two batches; of the attempts, some do not count.
    void SetUp() override {
        Draw draw(GetParam() ? 1 : 2);
        const std::vector<Verdict> verdicts = {Verdict::warmup, Verdict::valid,   Verdict::late_flag, Verdict::valid,
                                               Verdict::valid,  Verdict::overrun, Verdict::overrun,   Verdict::valid,
                                               Verdict::valid,  Verdict::valid,   Verdict::late_entry};
        for (int block = 0; block < 3; ++block) {
            for (int part = 0; part < 2; ++part) {
                std::vector<Drawn> attempts;
                for (const Verdict verdict : verdicts) {
                    attempts.push_back(draw.attempt(verdict, GetParam()));
                }
                attempts.resize(attempts.size() - static_cast<std::size_t>(part == 1 && block == 2 ? 2 : 0), {});
                Batch batch = batch_of(attempts);
                // The largest is not the last one.
                batch.error_bound = block == 1 && part == 0 ? 0.25 : draw.number(0.1, 0.2);
                batch.expected_error = block == 1 && part == 1 ? 0.125 : draw.number(0.05, 0.1);
                record_.add(batch, std::vector<Verdict>(verdicts.begin(),
                                                        verdicts.begin() + static_cast<long>(attempts.size())));
                for (Drawn &drawn : attempts) {
                    (drawn.verdict == Verdict::valid ? valid_ : rejected_).push_back(drawn);
                }
            }
            record_.end_block(false);
        }
        ASSERT_EQ(valid_.size() % 2, 1U);
        result_ = record_.result(*wanting(static_cast<long>(valid_.size())));
    }

    /// A number of each valid sample.
    template <typename Number> Values over(Number number) const {
        Values values;
        for (const Drawn &drawn : valid_) {
            values.push_back(number(drawn));
        }
        return values;
    }

    CellRecord record_{7, {"ibcast", 8, "MPI_BYTE", "harmonize"}};
    std::vector<Drawn> valid_;
    std::vector<Drawn> rejected_;
    CellResult result_{};
};

TEST_P(CellTruth, MetricsAreThoseOfTheStamps) {
    const auto count = static_cast<long>(valid_.size());
    EXPECT_EQ(result_.valid, count);
    EXPECT_EQ(record_.recorded(), count + static_cast<long>(rejected_.size()));
    EXPECT_EQ(result_.discarded, 6);
    EXPECT_EQ(result_.late_flag, 6);
    EXPECT_EQ(result_.overrun, 12);
    EXPECT_EQ(result_.late_entry, 5);
    EXPECT_EQ(result_.blocks, 3);
    EXPECT_EQ(result_.calls, calls);
    EXPECT_EQ(result_.has_deadline, GetParam());
    EXPECT_EQ(result_.status, CellStatus::ok);
    for (const Metric &metric : all_metrics()) {
        const Values values = over([&](const Drawn &drawn) { return metrics_of(drawn).at(metric.name); });
        const Summary &found = result_.metric(metric.name);
        EXPECT_NEAR(found.mean, mean(values), 1e-12) << metric.name;
        EXPECT_NEAR(found.median, middle(values), 1e-12) << metric.name;
        EXPECT_NEAR(found.min, smallest(values), 1e-12) << metric.name;
        EXPECT_NEAR(found.max, largest(values), 1e-12) << metric.name;
    }
}

TEST_P(CellTruth, OtherNumbersAreThoseOfTheStamps) {
    EXPECT_EQ(result_.error_bound, 0.25);
    EXPECT_EQ(result_.expected_error, 0.125);
    if (GetParam()) {
        EXPECT_NEAR(result_.slack, middle(over([](const Drawn &drawn) { return drawn.slack; })), 1e-12);
        EXPECT_NEAR(
            result_.lateness,
            largest(over([](const Drawn &drawn) { return largest(minus(drawn.entry, drawn.delay)) - drawn.deadline; })),
            1e-12);
    } else {
        EXPECT_TRUE(std::isnan(result_.slack));
        EXPECT_TRUE(std::isnan(result_.lateness));
    }
    Values means;
    for (const std::size_t rank : timed) {
        means.push_back(
            mean(over([rank](const Drawn &drawn) { return (drawn.exit[rank] - drawn.entry[rank]) / calls; })));
    }
    EXPECT_NEAR(result_.mean_of_means, mean(means), 1e-12);
    EXPECT_NEAR(result_.max_of_means, largest(means), 1e-12);
    EXPECT_NEAR(result_.min_of_means, smallest(means), 1e-12);
    // Each call computes its part of what the sample computed.
    EXPECT_NEAR(result_.computed, mean(over([](const Drawn &drawn) { return mean(drawn.computed) / calls; })), 1e-12);
    EXPECT_NEAR(result_.uncomputed, middle(over([](const Drawn &drawn) {
                    return metrics_of(drawn).at("makespan") - largest(drawn.computed) / calls;
                })),
                1e-12);
}

INSTANTIATE_TEST_SUITE_P(Starts, CellTruth, testing::Bool());

/// The numbers of a cell of both ranks' times, computed or not.
CellResult of(const Drawn &drawn) {
    CellRecord record(0, {"ibcast", 8, "MPI_BYTE", "harmonize"});
    record.add(batch_of({drawn}), {Verdict::valid});
    return record.result(*wanting(1));
}

TEST(CellOfBatches, ComparesCallsWithCallsAndDelaysWithSamples) {
    Draw draw(3);
    Drawn pure = draw.attempt(Verdict::valid, true);
    pure.computed = Values(ranks, 0.0);
    Drawn with = draw.attempt(Verdict::valid, true);
    with.exit = draw.row(29.5, 30);
    CellResult result = of(with);
    compare_with_pure(result, of(pure));
    compare_with_undelayed(result, of(pure));
    const auto alone = metrics_of(pure);
    const auto both = metrics_of(with);
    const double computed = mean(with.computed) / calls;
    const double beyond = both.at("latency_avg") - computed;
    const double time = alone.at("latency_avg");
    EXPECT_NEAR(result.computation_overlap.osu, std::max(0.0, 1.0 - beyond / time), 1e-12);
    EXPECT_NEAR(result.computation_overlap.imb, std::clamp((time - beyond) / std::min(time, computed), 0.0, 1.0),
                1e-12);
    const double window = alone.at("makespan");
    EXPECT_NEAR(result.computation_overlap.window,
                (window - (both.at("makespan") - largest(with.computed) / calls)) / std::min(window, computed), 1e-12);
    // Niethammer 2016, Eq. 5, of whole samples: delays are not those of a call.
    const double undelayed = largest(pure.exit) - smallest(pure.entry);
    const double delay = largest(with.entry) - smallest(with.entry);
    const double hidden = undelayed - (largest(with.exit) - largest(with.entry));
    EXPECT_NEAR(result.overlap_median.benefit, hidden / (largest(with.exit) - smallest(with.entry)), 1e-12);
    EXPECT_NEAR(result.overlap_min.share, hidden / std::min(undelayed, delay), 1e-12);
}

} // namespace
} // namespace bench
