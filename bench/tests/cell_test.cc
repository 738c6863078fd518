#include "rules/cell.h"

#include "fixture.h"
#include "text/words.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <utility>

namespace bench {
namespace {

Cell bcast_cell() { return {"bcast", 8, "MPI_BYTE", "harmonize"}; }

void add(CellRecord &record, double latency, Verdict verdict) {
    Batch batch = one_sample(0.0, {0.0, 0.0}, {latency, latency}, {1, 1});
    batch.slack = {3.0 * latency};
    batch.error_bound = latency;
    batch.expected_error = latency / 4.0;
    record.add(batch, {verdict});
}

TEST(CellRecord, TheIntervalOfTheMedianKnowsTheBlocks) {
    // Blocks of 10 that lie apart, with the same values in any order of the blocks: as one series they are worth less
    // than 4, as two blocks more than that cannot be said.
    const auto high = [](bool by_blocks) {
        CellRecord record(0, bcast_cell());
        for (int block = 0; block < 4; ++block) {
            for (int i = 0; i < 10; ++i) {
                add(record, 1.0 + (by_blocks ? 0.1 * block : 0.1 * (i % 4)) + 1e-3 * ((7 * i + block) % 10),
                    Verdict::valid);
            }
            record.end_block(false);
        }
        const CellResult result = record.result(*wanting(40));
        EXPECT_EQ(result.blocks, 4);
        return result.metric("latency_avg").median_high;
    };
    EXPECT_GT(high(true), 1.2);
    EXPECT_LT(high(false), 1.25);
    EXPECT_GT(high(true), high(false));
}

TEST(CellRecord, TheMedianIsInterpolatedWithinTheStepOfTheClock) {
    CellRecord record(0, bcast_cell());
    for (const double exit : {10.0, 10.0, 10.0, 20.0}) {
        Batch batch = one_sample(0.0, {0.0, 0.0}, {exit, exit}, {1, 1});
        batch.resolution = 10.0;
        record.add(batch, {Verdict::valid});
    }
    const CellResult result = record.result(*wanting(4));
    EXPECT_NEAR(result.metric("latency_max").median, 5.0 + 10.0 * 2 / 3, 1e-6);
    EXPECT_NEAR(result.metric("latency_avg").median, 7.5 + 5.0 * 2 / 3, 1e-6); // of two ranks
    EXPECT_EQ(result.metric("makespan").median, 10.0);                         // clocks with steps of their own
    EXPECT_EQ(result.metric("latency_max").p25, 10.0);
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

TEST(CellRecord, RoundTripsOfBlocksHaveARange) {
    CellRecord record(0, bcast_cell());
    EXPECT_TRUE(std::isnan(record.result(*wanting(1)).round_trip_low));
    record.add_round_trips(none, none);
    EXPECT_TRUE(std::isnan(record.result(*wanting(1)).round_trip_high));
    for (const auto &[before, after] : {std::pair(2.0, 3.0), std::pair(3.0, 4.75), std::pair(4.75, none),
                                        std::pair(none, 1.0), std::pair(3.0, 1.875)}) {
        record.add_round_trips(before, after);
    }
    const CellResult result = record.result(*wanting(1));
    EXPECT_EQ(result.round_trip_low, 1.0);
    EXPECT_EQ(result.round_trip_high, 4.75);
}

/// Blocks of `size` samples, whose times begin at 1 and change by `change` from call to call, with noise of 1 %.
CellResult of_blocks(int size, double change) {
    std::mt19937_64 random(1);
    CellRecord record(0, bcast_cell());
    for (int block = 0; block < 10; ++block) {
        for (int i = 0; i < size; ++i) {
            const double noise = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
            add(record, 1.0 + change * i + 0.02 * noise, Verdict::valid);
        }
        record.end_block(false);
    }
    return record.result(*wanting(1));
}

TEST(CellRecord, ProgressIsThatOfCompleteBlocks) {
    CellRecord record(0, bcast_cell());
    EXPECT_EQ(record.progress().blocks, 0);
    add(record, 1.0, Verdict::valid);
    record.end_block(true);
    add(record, 2.0, Verdict::valid);
    add(record, 3.0, Verdict::late_flag);
    const CellProgress progress = record.progress();
    EXPECT_EQ(progress.blocks, 1);
    EXPECT_EQ(progress.valid, 2);
    EXPECT_TRUE(progress.starved);
}

TEST(CellRecord, SlopeIsThatWithinBlocks) {
    EXPECT_NEAR(of_blocks(100, -0.002).slope, 0.85 / 0.95 - 1.0, 0.005);
    EXPECT_LT(of_blocks(100, -0.002).slope_by_chance, 0.02);
    EXPECT_NEAR(of_blocks(100, 0.0).slope, 0.0, 0.005);
    EXPECT_LT(std::abs(of_blocks(100, 0.0).slope), of_blocks(100, 0.0).slope_by_chance);
    EXPECT_NEAR(of_blocks(20, 0.01).slope, 1.145 / 1.045 - 1.0, 0.005);
    EXPECT_TRUE(std::isnan(of_blocks(19, 0.01).slope));
}

// In steps of 1, a median between values that share a step: 0.5 + 5 / 6, and 1.5 + 1 / 6.
TEST(CellRecord, SlopeIsFinerThanTheStepOfTheClock) {
    CellRecord record(0, bcast_cell());
    for (int block = 0; block < 3; ++block) {
        for (int i = 0; i < 20; ++i) {
            const double exit = i % 10 < (i < 10 ? 6 : 4) ? 1.0 : 2.0;
            Batch batch = one_sample(0.0, {0.0, 0.0}, {exit, exit}, {1, 1});
            batch.resolution = 2.0; // of the mean of two ranks half of it
            record.add(batch, {Verdict::valid});
        }
        record.end_block(false);
    }
    EXPECT_NEAR(record.result(*wanting(1)).slope, (1.5 + 1.0 / 6) / (0.5 + 5.0 / 6) - 1.0, 1e-6);
}

TEST(CellRecord, FewerThanRequestedIsIncomplete) {
    CellRecord record(0, bcast_cell());
    add(record, 1.0, Verdict::valid);
    EXPECT_EQ(record.result(*wanting(2)).status, CellStatus::incomplete);
}

TEST(CellRecord, NoneIsAFailureAndNotZero) {
    CellRecord record(0, bcast_cell());
    add(record, 1.0, Verdict::late_flag);
    const CellResult result = record.result(*wanting(2));
    EXPECT_EQ(result.status, CellStatus::failed);
    EXPECT_TRUE(std::isnan(result.metric("latency_avg").mean));
    EXPECT_TRUE(std::isnan(result.slack));
}

CellResult delayed_by(double delay, double time) {
    CellRecord record(0, bcast_cell());
    record.add(one_sample(none, {0.0, delay}, {time, time}, {1, 1}), {Verdict::valid});
    return record.result(*wanting(1));
}

TEST(Overlap, IsWhatNiethammersEquationFiveSays) {
    const CellResult undelayed = delayed_by(0.0, 4.0);
    EXPECT_TRUE(std::isnan(undelayed.overlap_median.benefit));
    const auto expect = [&](double delay, double time, double benefit, double share) {
        CellResult result = delayed_by(delay, time);
        compare_with_undelayed(result, undelayed);
        EXPECT_DOUBLE_EQ(result.overlap_median.benefit, benefit);
        EXPECT_DOUBLE_EQ(result.overlap_median.share, share);
        EXPECT_DOUBLE_EQ(result.overlap_min.share, share);
    };
    expect(10.0, 14.0, 0.0, 0.0);          // the delay just adds to the operation
    expect(10.0, 10.0, 0.4, 1.0);          // the operation is over when the late rank comes
    expect(1.0, 4.0, 0.25, 1.0);           // the delay is hidden within the operation
    expect(10.0, 16.0, -2.0 / 16.0, -0.5); // the delay costs more than itself
}

TEST(Overlap, DoesNotMixDelaysOfDifferentSamples) {
    // Two samples in which the delay just adds to the operation, and one that was disturbed: from the medians of times
    // (14) and delays (1) it would seem that the delay costs 9.
    CellRecord record(0, bcast_cell());
    for (const auto &[delay, after] : std::vector<std::pair<double, double>>{{0.0, 4.0}, {10.0, 4.0}, {1.0, 30.0}}) {
        record.add(one_sample(none, {0.0, delay}, {delay + after, delay + after}, {1, 1}), {Verdict::valid});
    }
    CellResult result = record.result(*wanting(3));
    compare_with_undelayed(result, delayed_by(0.0, 4.0));
    EXPECT_DOUBLE_EQ(result.overlap_median.benefit, 0.0);
    EXPECT_DOUBLE_EQ(result.overlap_median.share, 0.0);
}

/// A cell whose calls take so long on both ranks, computation included.
CellResult computing(double time, double computed) {
    CellRecord record(0, bcast_cell());
    Batch batch = one_sample(none, {0.0, 0.0}, {time, time}, {1, 1});
    batch.computed = {computed, computed};
    record.add(batch, {Verdict::valid});
    return record.result(*wanting(1));
}

TEST(ComputationOverlap, IsWhatItsAuthorsSay) {
    const CellResult pure = computing(8.0, 0.0);
    EXPECT_DOUBLE_EQ(pure.computed, 0.0);
    EXPECT_TRUE(std::isnan(pure.computation_overlap.osu));

    const auto expect = [&](double time, double computed, const ComputationOverlap &expected) {
        CellResult result = computing(time, computed);
        EXPECT_DOUBLE_EQ(result.computed, computed);
        compare_with_pure(result, pure);
        EXPECT_DOUBLE_EQ(result.computation_overlap.osu, expected.osu);
        EXPECT_DOUBLE_EQ(result.computation_overlap.imb, expected.imb);
        EXPECT_DOUBLE_EQ(result.computation_overlap.window, expected.window);
    };
    expect(8.0, 8.0, {1.0, 1.0, 1.0});   // as long as either: all is hidden
    expect(16.0, 8.0, {0.0, 0.0, 0.0});  // one after the other
    expect(12.0, 8.0, {0.5, 0.5, 0.5});  // half of it
    expect(8.0, 4.0, {0.5, 1.0, 1.0});   // computation too short to hide all: only OSU counts that against it
    expect(40.0, 36.0, {0.5, 0.5, 0.5}); // long computation
    expect(20.0, 8.0, {0.0, 0.0, -0.5}); // in each other's way: two of the figures are cut off
}

TEST(ComputationOverlap, ComparesWithTheSameOperationAlone) {
    Cell pure = bcast_cell();
    pure.pure_operation = pure.operation = "ibcast(type=int8)";
    Cell computing = pure;
    computing.operation = "ibcast(type=int8,compute=5us)";
    computing.computation = 5e-6;
    EXPECT_TRUE(same_but_for_computation(pure, computing));
    Cell other = computing;
    other.pattern = "one_late";
    EXPECT_FALSE(same_but_for_computation(pure, other));
    other = computing;
    other.size = 16;
    EXPECT_FALSE(same_but_for_computation(pure, other));
    other = computing;
    other.pure_operation = "ibcast";
    EXPECT_FALSE(same_but_for_computation(pure, other));
}

TEST(CellRecord, WrongResultsAreAFailureOfTheirOwn) {
    CellRecord record(0, bcast_cell());
    add(record, 1.0, Verdict::valid);
    record.add_validation(4, 0, "");
    EXPECT_EQ(record.result(*wanting(1)).status, CellStatus::ok);
    record.add_validation(4, 2, "rank 1: element 3 is 5 instead of 6");
    record.add_validation(4, 1, "rank 0: element 0 is 1 instead of 2");
    const CellResult result = record.result(*wanting(1));
    EXPECT_EQ(result.status, CellStatus::wrong);
    EXPECT_EQ(describe_shortfall(result),
              "wrong results in 3 of 12 validated calls, rank 1: element 3 is 5 instead of 6");
}

TEST(CellRecord, WhatIsMissingIsSaid) {
    CellRecord record(0, bcast_cell());
    add(record, 1.0, Verdict::valid);
    EXPECT_EQ(describe_shortfall(record.result(*wanting(2))), "1 of 2 samples valid");
    CellResult enough = record.result(*wanting(1));
    EXPECT_EQ(describe_shortfall(enough), "1 samples valid, but less precise than requested");
}

TEST(Cell, Describes) {
    EXPECT_EQ(describe_cell(bcast_cell()), "bcast of 8 bytes after harmonize");
    EXPECT_EQ(describe_cell({"barrier", 0, "none", "mpi_barrier"}), "barrier after mpi_barrier");
    Cell cell = bcast_cell();
    cell.timing = "batch";
    cell.pattern = "one_late(rank=1)";
    cell.delay = 20e-6;
    EXPECT_EQ(describe_cell(cell), "bcast of 8 bytes after harmonize, batch, one_late(rank=1) by 20 us");
}

} // namespace
} // namespace bench
