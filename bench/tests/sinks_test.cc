#include "expect_usage_error.h"
#include "files.h"
#include "netcdf_reader.h"
#include "rules/metric.h"
#include "text/error.h"
#include "written.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

namespace bench {
namespace {

const Format &format(const std::string &name) { return find_by_name(all_formats(), name); }

using SinksTest = Files;

TEST_F(SinksTest, TableOfTwoSynchronizersComparesThem) {
    write_fixture(format("table"), path("table"));
    expect_golden(read(path("table")), "comparison.txt");
    expect_narrow(read(path("table")));
}

TEST_F(SinksTest, TableOfOneSynchronizerShowsDetails) {
    write_fixture(format("table"), path("table"), "mpi_barrier");
    const std::string text = read(path("table"));
    EXPECT_NE(text.find("synchronizer harmonize\n"), std::string::npos);
    EXPECT_NE(text.find("makespan"), std::string::npos);
    EXPECT_NE(text.find(std::string("warning: ") + fixture_warning), std::string::npos);
    expect_narrow(text);
}

TEST_F(SinksTest, ASimulationSaysSo) {
    SamplingContext context = fixture_context();
    const std::string platform = context.simulated = "cluster(nodes=2,latency=1e-06)";
    for (const Format &one : written_formats()) {
        const std::string file = path(one.name + "-simulated" + one.suffix);
        write_fixture(one, file, "", context);
        std::string text = read(file);
        std::erase(text, ' '); // lines of a table are wrapped
        std::erase(text, '\n');
        EXPECT_NE(text.find(platform), std::string::npos) << one.name;
    }
}

TEST_F(SinksTest, WhatCountsAlthoughRanksAreLateIsTold) {
    SamplingContext context = fixture_context();
    context.starts = {.late = 5e-6, .flags_count = false, .late_ranks = 0.5};
    const std::string table = path("late");
    write_fixture(format("table"), table, "", context);
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

/// A cell that has been measured for weeks.
TEST_F(SinksTest, SamplesHaveNumbersBeyond32Bits) {
    const FixtureBatch fixture = fixture_batches().front();
    constexpr long first = (1L << 32) - 1;
    LaunchWriter writer = writer_of(format("netcdf"), path("out.nc"), fixture_cells());
    writer.samples({fixture.cell, 0, first, fixture.batch, fixture.verdicts, 0x1p-23});
    writer.end({fixture_agreement(), {}, ""});
    EXPECT_EQ(Reader(path("out.nc")).numbers("attempt"), (std::vector<double>{0x1p32 - 1, 0x1p32}));
}

TEST_F(SinksTest, NetcdfHoldsEachMetricOfEachSample) {
    write_fixture(format("netcdf"), path("out.nc"));
    const Reader reader(path("out.nc"));
    const std::vector<FixtureBatch> batches = fixture_batches();
    for (const Metric &metric : all_metrics()) {
        std::vector<double> expected;
        for (const FixtureBatch &fixture : batches) {
            for (std::size_t i = 0; i < fixture.batch.size(); ++i) {
                expected.push_back(metric.value(fixture.batch[i]));
            }
        }
        EXPECT_EQ(reader.numbers(metric.name), expected) << metric.name;
        EXPECT_EQ(reader.attribute("units", metric.name), "s");
        EXPECT_EQ(reader.attribute("long_name", metric.name), metric.meaning);
        EXPECT_FALSE(reader.attribute("label", metric.name).empty());
    }
    EXPECT_EQ(reader.attribute("step", "latency_avg"), "per call and timed rank");
    EXPECT_EQ(reader.attribute("step", "latency_max"), "per call");
    EXPECT_EQ(reader.attribute("step", "makespan"), "none");
}

// Cells: cell_fields_test.cc.
TEST_F(SinksTest, NetcdfHoldsContextAndRanks) {
    const std::string file = path("out.nc");
    write_fixture(format("netcdf"), file);
    const Reader reader(file);
    EXPECT_EQ(reader.format(), NC_FORMAT_CDF5);
    EXPECT_EQ(reader.texts("host"), (std::vector<std::string>{"node1", "node1"}));
    EXPECT_EQ(reader.texts("cpuset"), (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(reader.numbers("status"), (std::vector<double>{0, 0, 0, 2}));
    EXPECT_EQ(reader.numbers("valid_count")[3], 0.0);
    EXPECT_EQ(reader.attribute("command_line"), "downbeat-bench bcast -m 8");
    EXPECT_EQ(reader.attribute("clock_sync"), "hca3_offset");
    EXPECT_EQ(reader.attribute("environment"), "DOWNBEAT_CLOCK=tsc");
    EXPECT_EQ(reader.attribute("seed"), "7");
    EXPECT_EQ(reader.attribute("warnings"), fixture_warning);
    EXPECT_EQ(reader.attribute("clock_check"), describe(fixture_agreement()));
    EXPECT_NE(reader.attribute("hosts").find("governor performance"), std::string::npos);
}

TEST_F(SinksTest, ANetcdfFileCutShortKeepsItsSamples) {
    const std::string file = path("out.nc");
    const std::string copy = path("copy.nc");
    const FixtureBatch fixture = fixture_batches()[0];
    LaunchWriter writer = writer_of(format("netcdf"), file, fixture_cells());
    writer.samples({fixture.cell, 0, 0, fixture.batch, fixture.verdicts, 0x1p-23});
    std::filesystem::copy_file(file, copy); // what a crash would leave
    EXPECT_EQ(Reader(copy).numbers("entry"), fixture.batch.entry);
}

TEST_F(SinksTest, ANetcdfFileHasRoomForWarningsOfAnyLength) {
    const std::string file = path("out.nc");
    const FixtureBatch fixture = fixture_batches()[0];
    const std::string longest(3'000'000, 'w'); // than what is kept free, and than what is moved at a time
    LaunchWriter writer = writer_of(format("netcdf"), file, fixture_cells());
    writer.samples({fixture.cell, 0, 0, fixture.batch, fixture.verdicts, 0x1p-23});
    writer.end({fixture_agreement(), {longest}, ""});
    const Reader reader(file);
    EXPECT_EQ(reader.numbers("entry"), fixture.batch.entry);
    EXPECT_EQ(reader.texts("host"), (std::vector<std::string>{"node1", "node1"}));
    EXPECT_EQ(reader.attribute("warnings"), longest);
}

TEST_F(SinksTest, WhatCannotBeWrittenIsNoticedAtOnce) {
    for (const Format &one : written_formats()) {
        try {
            one.make(path("absent/out"));
            ADD_FAILURE() << one.name;
        } catch (const Error &error) {
            EXPECT_EQ(error.status(), ExitStatus::failure);
            EXPECT_NE(std::string(error.what()).find("absent/out'"), std::string::npos) << error.what();
        }
    }
}

TEST_F(SinksTest, AreFoundBySuffix) {
    EXPECT_EQ(find_format("a/b.nc").name, "netcdf");
    EXPECT_EQ(find_format("b.x.csv").name, "csv");
    EXPECT_EQ(find_format("a/perfetto.json").name, "json");
    for (const char *name : {"b", "b.", "b.dat", ".nc", ""}) {
        SCOPED_TRACE(name);
        expect_usage_error([&] { find_format(name); }, {".csv, .json, .nc"});
    }
}

TEST_F(SinksTest, TimelinesAreExported) {
    for (const char *name : {"a.otf2", "a.perfetto.json"}) {
        expect_usage_error([&] { find_format(name); }, {name, "downbeat export"});
    }
}

} // namespace
} // namespace bench
