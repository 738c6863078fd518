#include "rules/metric.h"

#include "samples.h"
#include "text/words.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

double value(const char *metric, double deadline) {
    const Batch batch = one_sample(deadline, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    return find_by_name(all_metrics(), metric).value(batch[0]);
}

TEST(Metrics, LatenciesAreTimesInTheOperation) {
    EXPECT_DOUBLE_EQ(value("latency_avg", 9.0), (2.0 + 3.0 + 2.0) / 3);
    EXPECT_DOUBLE_EQ(value("latency_max", 9.0), 3.0);
    EXPECT_DOUBLE_EQ(value("latency_min", 9.0), 2.0);
}

TEST(Metrics, LatenciesAreOfTheRanksThatCount) {
    Batch batch = one_sample(9.0, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    batch.timed = {1};
    batch.calls = 2;
    for (const char *metric : {"latency_avg", "latency_max", "latency_min"}) {
        EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), metric).value(batch[0]), 1.5);
    }
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "makespan").value(batch[0]), 2.5); // of all ranks
}

TEST(Metrics, ObservedIsTheChosenRank) {
    Batch batch = one_sample(9.0, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "latency_observed").value(batch[0]), 2.0);
    batch.observed = 1;
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "latency_observed").value(batch[0]), 3.0);
}

TEST(Metrics, ValuesAreOnAGridWhereTheStampsAre) {
    Batch batch = one_sample(9.0, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    batch.resolution = 6.0;
    batch.calls = 2;
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "latency_avg").step(batch), 1.0);
    batch.timed = {1};
    for (const char *metric : {"latency_avg", "latency_max", "latency_min", "latency_observed"}) {
        EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), metric).step(batch), 3.0);
    }
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "makespan").step(batch), 0.0);
}

TEST(Metrics, TimesAcrossRanksBeginWhereTheirNamesSay) {
    EXPECT_DOUBLE_EQ(value("makespan", 9.0), 5.0);
    EXPECT_DOUBLE_EQ(value("makespan", none), 4.0); // without a deadline from the first entry
    EXPECT_DOUBLE_EQ(value("global_time", 9.0), 4.0);
    EXPECT_DOUBLE_EQ(value("after_last_entry", 9.0), 3.0);
}

TEST(Metrics, LatenessIsThatOfTheLatestRank) {
    Batch batch = one_sample(9.0, {10.0, 11.0, 12.0}, {12.0, 14.0, 12.5}, {1, 1, 1});
    EXPECT_DOUBLE_EQ(lateness(batch[0]), 3.0);
    batch.delay = {0.0, 0.0, 1.5}; // on purpose
    EXPECT_DOUBLE_EQ(lateness(batch[0]), 2.0);
    batch.delay = {0.0, 1.5, 1.5};
    EXPECT_DOUBLE_EQ(lateness(batch[0]), 1.5);
    batch.delay = {1.5, 2.5, 3.5};
    EXPECT_DOUBLE_EQ(lateness(batch[0]), -0.5);
}

TEST(Metrics, ExitSkewLeavesDelaysOut) {
    EXPECT_DOUBLE_EQ(value("exit_skew", 9.0), 1.0);
    Batch batch = one_sample(9.0, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    batch.delay = {0.0, 1.25, 0.0};
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "exit_skew").value(batch[0]), 0.75); // 9.75 to 10.5
}

TEST(Metrics, EndSkewIsThatOfTheOperation) {
    EXPECT_DOUBLE_EQ(value("end_skew", 9.0), 2.0); // 12 to 14
    EXPECT_DOUBLE_EQ(value("end_skew", none), 2.0);
    Batch batch = one_sample(9.0, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    batch.delay = {0.0, 1.25, 0.0};
    batch.timed = {0};
    EXPECT_DOUBLE_EQ(find_by_name(all_metrics(), "end_skew").value(batch[0]), 2.0); // as the exits came
}

TEST(Metrics, ImbalanceIsThatOfEntries) {
    EXPECT_DOUBLE_EQ(value("imbalance_worst", 9.0), 1.0);
    EXPECT_DOUBLE_EQ(value("imbalance_mean", 9.0), (0.5 + 0.5 + 0.0) / 3);
}

TEST(Metrics, TimesInTheOperationArePerCallAndTimesBetweenRanksAreNot) {
    Batch batch = one_sample(9.0, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    const Batch once = batch;
    batch.calls = 4;
    for (const Metric &metric : all_metrics()) {
        const bool of_one_end = metric.name.ends_with("skew") || metric.name.starts_with("imbalance");
        EXPECT_DOUBLE_EQ(metric.value(batch[0]) * (of_one_end ? 1 : 4), metric.value(once[0])) << metric.name;
    }
}

} // namespace
} // namespace bench
