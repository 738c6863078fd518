#include "files.h"
#include "fixture.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

constexpr double us = 1e-6;

/// A cell whose two samples take so long (microseconds) on both ranks; rank 1 enters after `late` and both leave
/// together; the second sample takes one more.
struct MeasuredCell {
    Cell cell;
    double time;
    double late;
    bool has_deadline;
};

Batch measure(const MeasuredCell &measured) {
    const double deadline = measured.has_deadline ? 0.0 : none;
    const double longer = measured.time + 1.0;
    Batch batch = samples(2, {deadline, deadline}, {none, none}, {0.0, measured.late, 0.0, measured.late},
                          {measured.time, measured.time, longer, longer}, {1, 1, 1, 1}, us);
    batch.delay = {0.0, measured.cell.delay, 0.0, measured.cell.delay};
    batch.computed.assign(4, measured.cell.computation);
    batch.error_bound = 0.125 * us;
    return batch;
}

class Tables : public Files {
protected:
    std::string table(const std::vector<MeasuredCell> &measured, const std::string &format = "table") const {
        std::vector<CellResult> results;
        for (std::size_t i = 0; i < measured.size(); ++i) {
            const Cell &cell = measured[i].cell;
            CellRecord record(i, cell);
            record.add(measure(measured[i]), {Verdict::valid, Verdict::valid});
            results.push_back(record.result(*wanting(2)));
            for (const CellResult &other : results) { // cells without delay come first
                if (cell.pattern != "none" && other.cell.pattern == "none" && same_but_for_arrival(other.cell, cell)) {
                    compare_with_undelayed(results.back(), other);
                }
                if (cell.computation > 0.0 && other.cell.computation == 0.0 &&
                    same_but_for_computation(other.cell, cell)) {
                    compare_with_pure(results.back(), other);
                }
            }
        }
        return end_of(find_by_name(all_formats(), format), fixture_context(), results).text;
    }

    /// The rows and the legend, without the lines above.
    void expect_table(const std::vector<MeasuredCell> &measured, const std::string &golden) const {
        const std::string text = table(measured);
        expect_golden(text.substr(text.find("\n\n") + 2), golden);
    }
};

Cell bcast(const std::string &synchronizer, const std::string &timing = "per_call", const std::string &pattern = "none",
           double delay = 0.0) {
    return {"bcast", 8, "MPI_BYTE", synchronizer, timing, pattern, delay};
}

TEST_F(Tables, ManySynchronizersAreRows) {
    std::vector<MeasuredCell> measured;
    double time = 2.0;
    for (const char *synchronizer : {"mpi_barrier", "linear", "double_ring", "recursive_doubling",
                                     "window(size=100us,growth=1.5)", "roundtime(budget=0.25s,slack=3)", "harmonize"}) {
        measured.push_back({bcast(synchronizer), time, time / 4, time > 6.0});
        time += 1.0;
    }
    expect_table(measured, "synchronizers.txt");
}

TEST_F(Tables, TimingSchemesAreToldApart) {
    expect_table({{bcast("mpi_barrier"), 4.0, 1.0, false},
                  {bcast("mpi_barrier", "batch(calls=100)"), 3.0, 1.0, false},
                  {bcast("harmonize"), 2.0, 0.0, true},
                  {bcast("harmonize", "batch(calls=100)"), 3.0, 0.0, true}},
                 "timings.txt");
    const std::string compared = table({{bcast("mpi_barrier", "batch(calls=100)"), 3.0, 1.0, false},
                                        {bcast("harmonize", "batch(calls=100)"), 3.0, 0.0, true}});
    EXPECT_NE(compared.find(" batch(calls=100)"), std::string::npos);
}

TEST_F(Tables, ComputationHasATableOfItsOwn) {
    std::vector<MeasuredCell> measured;
    for (const bool harmonized : {false, true}) {
        Cell pure = bcast(harmonized ? "harmonize" : "mpi_barrier");
        pure.size_meaning = "of the message";
        pure.operation = pure.pure_operation = "ibcast";
        Cell computing = pure;
        computing.operation = "ibcast(compute=20us,tests=4)";
        computing.computation = 20 * us;
        measured.push_back({pure, 9.5, 0.0, harmonized});
        measured.push_back({computing, 24.5, 0.0, harmonized}); // 5 of 10 hidden
    }
    expect_table(measured, "computation.txt");
}

TEST_F(Tables, OsuHasItsHeadersAndColumns) {
    Cell pure = bcast("harmonize");
    pure.operation = pure.pure_operation = "ibcast";
    Cell computing = pure;
    computing.operation = "ibcast(compute=20us)";
    computing.computation = 20 * us;
    Cell larger = bcast("mpi_barrier");
    larger.size = 1048576;
    Cell barrier = bcast("harmonize");
    barrier.operation = "barrier";
    barrier.size = 0;
    barrier.datatype = "none";
    Cell persistent = bcast("harmonize");
    persistent.operation = "bcast_init";
    expect_golden(table({{bcast("mpi_barrier"), 0.25, 0.0, false},
                         {larger, 1234.5, 0.0, false},
                         {bcast("harmonize", "per_call", "one_late", 5 * us), 3.0, 5.0, true},
                         {barrier, 2.0, 0.0, true},
                         {pure, 9.5, 0.0, true},
                         {computing, 24.5, 0.0, true},
                         {persistent, 4.0, 0.0, true}},
                        "osu"),
                  "osu.txt", 90); // OSU's columns
}

TEST_F(Tables, LongNamesStandAbove) {
    Cell first = bcast("harmonize");
    first.operation = "neighbor_alltoallw_init(topology=graph)";
    Cell second = first;
    second.size = 16;
    Cell third = bcast("harmonize");
    expect_table({{first, 4.0, 0.0, true}, {second, 5.0, 0.0, true}, {third, 6.0, 0.0, true}}, "long_names.txt");
}

TEST_F(Tables, ColumnsOfLargeNumbersGoBelow) {
    expect_table({{bcast("harmonize"), 12345678.0, 12345.0, true}}, "large_numbers.txt");
}

TEST_F(Tables, DelaysAreComparedWithNone) {
    std::vector<MeasuredCell> measured;
    for (const bool harmonized : {false, true}) {
        const char *synchronizer = harmonized ? "harmonize" : "mpi_barrier";
        // 10 us without delay: 50 us of delay hide 6 of them, all 10, or cost 5 more.
        measured.push_back({bcast(synchronizer), 9.5, 0.0, harmonized});
        measured.push_back({bcast(synchronizer, "per_call", "one_late(rank=1)", 5 * us), 9.5, 5.0, harmonized});
        measured.push_back({bcast(synchronizer, "per_call", "one_late(rank=1)", 50 * us), 53.5, 50.0, harmonized});
        measured.push_back({bcast(synchronizer, "per_call", "ascending", 50 * us), 64.5, 50.0, harmonized});
    }
    // t0 = 10, t = 54, delay 50: 6 of 10 are hidden; Eq. 5 relates them to t.
    expect_table(measured, "arrival.txt");
}

} // namespace
} // namespace bench
