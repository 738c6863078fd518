#include "output/reporters/reporter_registry.h"

#include "expect_usage_error.h"
#include "files.h"
#include "fixture.h"
#include "netcdf_reader.h"
#include "text/error.h"
#include "text/names.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

namespace bench {
namespace {

constexpr const char *warning = "something was seen: it matters; do this";

/// Reports the launch of fixture.h, without the cells of some synchronizer if one is named.
void report(Reporter &reporter, const std::string &without = "", const SamplingContext &context = fixture_context()) {
    const std::vector<Cell> cells = fixture_cells();
    std::vector<CellRecord> records;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        records.emplace_back(i, cells[i]);
    }
    reporter.begin(context, cells);
    std::size_t block = 0;
    for (const FixtureBatch &fixture : fixture_batches()) {
        CellRecord &record = records[fixture.cell];
        reporter.samples({fixture.cell, block++, record.recorded(), fixture.batch, fixture.verdicts, 0x1p-23});
        record.add(fixture.batch, fixture.verdicts);
    }
    for (const std::size_t i : {1, 0, 2, 3}) { // as they complete
        if (cells[i].synchronizer != without) {
            reporter.cell(records[i].summarize(*wanting(2)));
        }
    }
    reporter.end({fixture_agreement(), {warning}});
}

class Reporters : public Files {
protected:
    void expect_reported(const std::string &reporter, const std::string &golden,
                         const std::string &without = "") const {
        const std::string actual_path = path(golden);
        report(*find_by_name(all_reporters(), reporter).make(actual_path), without);
        expect_golden(read(actual_path), golden);
    }
};

TEST_F(Reporters, TableOfTwoSynchronizersComparesThem) { expect_reported("table", "comparison.txt"); }

TEST_F(Reporters, TableOfOneSynchronizerShowsDetails) { expect_reported("table", "details.txt", "mpi_barrier"); }

TEST_F(Reporters, Csv) { expect_reported("csv", "cells.csv"); }

TEST_F(Reporters, Json) { expect_reported("json", "lines.json"); }

TEST_F(Reporters, ASimulationSaysSo) {
    SamplingContext context = fixture_context();
    const std::string platform = context.simulated = "cluster(nodes=2,latency=1e-06)";
    for (const ReporterInfo &reporter : all_reporters()) {
        const std::string file = path(reporter.name + "-simulated" + reporter.suffix);
        report(*reporter.make(file), "", context);
        if (reporter.name != "otf2") { // tested in otf2_test.cc
            std::string text = read(file);
            std::erase(text, ' '); // lines of a table are wrapped
            std::erase(text, '\n');
            EXPECT_NE(text.find(platform), std::string::npos) << reporter.name;
        }
    }
}

TEST_F(Reporters, WhatCountsAlthoughRanksAreLateIsTold) {
    SamplingContext context = fixture_context();
    context.starts = {.late = 5e-6, .flags_count = false, .late_ranks = 0.5};
    const std::string table = path("late");
    report(*find_by_name(all_reporters(), "table").make(table), "", context);
    EXPECT_NE(read(table).find("  a sample counts if at most 1 of 2 ranks start later than 5.00 us\n"),
              std::string::npos);
    const auto values = context_values(context);
    const auto has = [](const ContextValues &all, const ContextValues::value_type &value) {
        return std::find(all.begin(), all.end(), value) != all.end();
    };
    EXPECT_TRUE(has(values, {"late_s", 5e-6}));
    EXPECT_TRUE(has(values, {"late_ranks", 0.5}));
    for (const auto &[name, value] : context_values(fixture_context())) {
        EXPECT_FALSE(name.starts_with("late")) << name;
    }
}

TEST_F(Reporters, Perfetto) { expect_reported("perfetto", "trace.perfetto.json"); }

TEST_F(Reporters, NoTableIsWiderThanATerminal) {
    for (const char *golden : {"comparison.txt", "details.txt"}) {
        expect_narrow(read(std::string(BENCH_GOLDEN_DIR) + "/" + golden));
    }
}

/// A cell that has been measured for weeks.
TEST_F(Reporters, SamplesHaveNumbersBeyond32Bits) {
    const FixtureBatch fixture = fixture_batches().front();
    constexpr long first = (1L << 32) - 1;
    const auto text_of = [&](const std::string &name) {
        const std::string file = path("numbers-" + name);
        const auto reporter = find_by_name(all_reporters(), name).make(file);
        reporter->begin(fixture_context(), fixture_cells());
        reporter->samples({fixture.cell, 0, first, fixture.batch, fixture.verdicts, 0x1p-23});
        reporter->end({fixture_agreement(), {}});
        return file;
    };
    EXPECT_EQ(Reader(text_of("netcdf")).numbers("attempt"), (std::vector<double>{0x1p32 - 1, 0x1p32}));
    EXPECT_NE(read(text_of("perfetto")).find("\"sample\":4294967296"), std::string::npos);
}

// Cells: cell_fields_test.cc; samples: python/tests/test_cells.py, which computes all statistics from them.
TEST_F(Reporters, NetcdfHoldsContextAndRanks) {
    const std::string file = path("out.nc");
    report(*find_by_name(all_reporters(), "netcdf").make(file));
    const Reader reader(file);
    EXPECT_EQ(reader.format(), NC_FORMAT_CDF5);
    EXPECT_EQ(reader.texts("host"), (std::vector<std::string>{"node1", "node1"}));
    EXPECT_EQ(reader.texts("cpuset"), (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(reader.numbers("status"), (std::vector<double>{0, 0, 0, 2}));
    EXPECT_TRUE(std::isnan(reader.numbers("makespan_median")[3])); // no valid sample
    EXPECT_EQ(reader.attribute("command_line"), "downbeat-bench bcast -m 8");
    EXPECT_EQ(reader.attribute("clock_sync"), "hca3_offset");
    EXPECT_EQ(reader.attribute("environment"), "DOWNBEAT_CLOCK=tsc");
    EXPECT_EQ(reader.attribute("seed"), "7");
    EXPECT_EQ(reader.attribute("warnings"), warning);
    EXPECT_EQ(reader.attribute("clock_check"), describe(fixture_agreement()));
    EXPECT_NE(reader.attribute("hosts").find("governor performance"), std::string::npos);
}

TEST_F(Reporters, ANetcdfFileCutShortKeepsItsSamples) {
    const std::string file = path("out.nc");
    const std::string copy = path("copy.nc");
    const auto reporter = find_by_name(all_reporters(), "netcdf").make(file);
    const FixtureBatch fixture = fixture_batches()[0];
    reporter->begin(fixture_context(), fixture_cells());
    reporter->samples({fixture.cell, 0, 0, fixture.batch, fixture.verdicts, 0x1p-23});
    std::filesystem::copy_file(file, copy); // what a crash would leave
    EXPECT_EQ(Reader(copy).numbers("entry"), fixture.batch.entry);
}

TEST_F(Reporters, ANetcdfFileHasRoomForWarningsOfAnyLength) {
    const std::string file = path("out.nc");
    const auto reporter = find_by_name(all_reporters(), "netcdf").make(file);
    const FixtureBatch fixture = fixture_batches()[0];
    const std::string longest(3'000'000, 'w'); // than what is kept free, and than what is moved at a time
    reporter->begin(fixture_context(), fixture_cells());
    reporter->samples({fixture.cell, 0, 0, fixture.batch, fixture.verdicts, 0x1p-23});
    reporter->end({fixture_agreement(), {longest}});
    const Reader reader(file);
    EXPECT_EQ(reader.numbers("entry"), fixture.batch.entry);
    EXPECT_EQ(reader.texts("host"), (std::vector<std::string>{"node1", "node1"}));
    EXPECT_EQ(reader.attribute("warnings"), longest);
}

TEST_F(Reporters, WhatCannotBeWrittenIsNoticedAtOnce) {
    for (const ReporterInfo &reporter : all_reporters()) {
        try {
            reporter.make(path("absent/out"));
            ADD_FAILURE() << reporter.name;
        } catch (const Error &error) {
            EXPECT_EQ(error.status(), ExitStatus::failure);
            EXPECT_NE(std::string(error.what()).find("absent/out'"), std::string::npos) << error.what();
        }
    }
}

TEST_F(Reporters, AreFoundBySuffix) {
    EXPECT_EQ(find_reporter("a/b.nc").name, "netcdf");
    EXPECT_EQ(find_reporter("b.x.csv").name, "csv");
    EXPECT_EQ(find_reporter("a/perfetto.json").name, "json");
    EXPECT_EQ(find_reporter("a/b.perfetto.json").name, "perfetto");
    for (const char *name : {"b", "b.", "b.dat", ".nc", ""}) {
        SCOPED_TRACE(name);
        expect_usage_error([&] { find_reporter(name); }, {".csv, .json, .nc, .perfetto.json"});
    }
}

#ifndef BENCH_OTF2
TEST_F(Reporters, OfALibraryThatWasAbsentSayWhichPackageBringsIt) {
    expect_usage_error([] { find_reporter("a.otf2"); }, {"a.otf2", "libotf2-trace-dev"});
}
#endif

} // namespace
} // namespace bench
