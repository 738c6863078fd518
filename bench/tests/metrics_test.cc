#include "metric.h"

#include "names.h"
#include "samples.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

double value(const char *metric, double deadline) {
    const Batch batch = one_sample(deadline, {10.0, 11.0, 10.5}, {12.0, 14.0, 12.5}, {1, 1, 1});
    return find_by_name(all_metrics(), metric).value(batch[0]);
}

TEST(Metrics, LatencyAvgIsTheMeanOverRanks) { EXPECT_DOUBLE_EQ(value("latency_avg", 9.0), (2.0 + 3.0 + 2.0) / 3); }

TEST(Metrics, LatencyMaxIsTheSlowestRank) { EXPECT_DOUBLE_EQ(value("latency_max", 9.0), 3.0); }

TEST(Metrics, MakespanRunsFromTheDeadline) { EXPECT_DOUBLE_EQ(value("makespan", 9.0), 5.0); }

TEST(Metrics, MakespanRunsFromTheFirstEntryWithoutADeadline) { EXPECT_DOUBLE_EQ(value("makespan", none), 4.0); }

TEST(Metrics, ExitSkewIsTheSpreadOfEntries) { EXPECT_DOUBLE_EQ(value("exit_skew", 9.0), 1.0); }

} // namespace
} // namespace bench
