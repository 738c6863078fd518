#include "cell.h"

#include "samples.h"

#include <cmath>
#include <gtest/gtest.h>

namespace bench {
namespace {

Cell bcast_cell() { return {"bcast", 8, "MPI_BYTE", "harmonize"}; }

void add(CellRecord &record, double latency, Verdict verdict) {
    Batch batch = one_sample(0.0, {0.0, 0.0}, {latency, latency}, {1, 1});
    batch.slack = {3.0 * latency};
    batch.error_bound = latency;
    record.add(batch, {verdict});
}

TEST(CellRecord, OnlyValidSamplesEnterTheStatistics) {
    CellRecord record(4, bcast_cell());
    add(record, 1.0, Verdict::valid);
    add(record, 100.0, Verdict::late_flag);
    add(record, 200.0, Verdict::late_entry);
    add(record, 3.0, Verdict::valid);
    EXPECT_EQ(record.recorded(), 4);

    const CellResult result = record.summarize(*wanting(2));
    EXPECT_EQ(result.status, CellStatus::ok);
    EXPECT_EQ(result.index, 4U);
    EXPECT_EQ(result.valid, 2);
    EXPECT_EQ(result.rejected(), 2);
    EXPECT_EQ(result.late_flag, 1);
    EXPECT_EQ(result.late_entry, 1);
    EXPECT_DOUBLE_EQ(result.metric("latency_avg").mean, 2.0);
    EXPECT_DOUBLE_EQ(result.metric("latency_avg").max, 3.0);
    EXPECT_DOUBLE_EQ(result.slack, 6.0);
    EXPECT_DOUBLE_EQ(result.error_bound, 200.0); // a bound holds for the batch, valid or not
}

TEST(CellRecord, FewerThanRequestedIsIncomplete) {
    CellRecord record(0, bcast_cell());
    add(record, 1.0, Verdict::valid);
    EXPECT_EQ(record.summarize(*wanting(2)).status, CellStatus::incomplete);
}

TEST(CellRecord, NoneIsAFailureAndNotZero) {
    CellRecord record(0, bcast_cell());
    add(record, 1.0, Verdict::late_flag);
    const CellResult result = record.summarize(*wanting(2));
    EXPECT_EQ(result.status, CellStatus::failed);
    EXPECT_TRUE(std::isnan(result.metric("latency_avg").mean));
    EXPECT_TRUE(std::isnan(result.slack));
}

TEST(CellRecord, WithoutSlackThereIsNone) {
    CellRecord record(0, bcast_cell());
    record.add(one_sample(none, {0.0}, {1.0}, {1}), {Verdict::valid});
    EXPECT_TRUE(std::isnan(record.summarize(*wanting(1)).slack));
}

TEST(Cell, Describes) {
    EXPECT_EQ(describe(bcast_cell()), "bcast of 8 bytes under harmonize");
    EXPECT_EQ(describe({"barrier", 0, "none", "mpi_barrier"}), "barrier under mpi_barrier");
}

} // namespace
} // namespace bench
