#include "crc32.h"
#include "expect_usage_error.h"
#include "files.h"
#include "fixture.h"
#include "output/output.h"
#include "rules/metric.h"
#include "text/error.h"

#include <cmath>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr uid_t another_user = 65534;

class OutputTest : public Files {
protected:
    void SetUp() override {
        Files::SetUp();
        std::ofstream(path("victim")) << "years of work";
    }
    void TearDown() override {
        EXPECT_EQ(read(path("victim")), "years of work");
        Files::TearDown();
    }

    void write(const std::string &name) const {
        Output output(path(name));
        output.write("one,");
        EXPECT_EQ(read(path(name)), "one,"); // a crash loses nothing
        output.finish("two");
    }

    std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path("")), {})); }
};

TEST_F(OutputTest, ReplacesAHardLink) {
    fs::create_hard_link(path("victim"), path("a"));
    write("a");
    EXPECT_EQ(read(path("a")), "one,two");
    EXPECT_EQ(files(), 2U); // nothing else is left
}

TEST_F(OutputTest, FollowsASymbolicLinkOfOnesOwn) {
    fs::create_directory(path("scratch"));
    std::ofstream(path("scratch/b")) << "an earlier run";
    fs::create_symlink("scratch/b", path("link")); // relative to where it is
    fs::create_symlink(path("link"), path("a"));
    write("a");
    EXPECT_TRUE(fs::is_symlink(path("a")));
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_FALSE(fs::is_symlink(path("scratch/b")));
    EXPECT_EQ(read(path("scratch/b")), "one,two");
    fs::remove(path("scratch/b")); // nor does that have to exist
    write("a");
    EXPECT_EQ(read(path("scratch/b")), "one,two");
}

TEST_F(OutputTest, RefusesASymbolicLinkOfAnotherUser) {
    fs::create_symlink(path("victim"), path("a"));
    if (lchown(path("a").c_str(), another_user, another_user) != 0) {
        GTEST_SKIP() << "only root makes links of another user";
    }
    fs::create_symlink(path("a"), path("own"));
    for (const char *name : {"a", "own"}) {
        try {
            const Output output(path(name));
            ADD_FAILURE();
        } catch (const Error &error) {
            EXPECT_NE(std::string(error.what()).find("symbolic link that another user made"), std::string::npos)
                << error.what();
        }
    }
}

TEST_F(OutputTest, RefusesLinksWithoutEnd) {
    fs::create_symlink(path("a"), path("b"));
    fs::create_symlink(path("b"), path("a"));
    EXPECT_THROW(const Output output(path("a")), Error);
}

TEST_F(OutputTest, WritesToPipesAndDevicesAsTheyAre) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    fs::create_symlink(path("fifo"), path("a"));
    auto found = std::async(std::launch::async, [this] { return read(path("fifo")); });
    Output output(path("a"));
    output.finish("one");
    EXPECT_EQ(found.get(), "one");
    EXPECT_TRUE(fs::is_fifo(path("fifo")));
    Output("/dev/null").finish("one");
}

// A pipe has no path, although /dev/stdout leads to it.
TEST_F(OutputTest, WritesToADescriptorByItsName) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Output(fmt::format("/proc/self/fd/{}", ends[1])).finish("one");
    close(ends[1]);
    char text[8] = "";
    EXPECT_EQ(::read(ends[0], text, sizeof text), 3);
    EXPECT_STREQ(text, "one");
    close(ends[0]);
}

TEST_F(OutputTest, EveryKindOfFileReplacesALink) {
    for (const Format &kind : all_formats()) {
        if (kind.suffix.empty()) {
            continue;
        }
        const std::string name = path("out" + kind.suffix);
        fs::create_hard_link(path("victim"), name);
        write_fixture(kind, name);
        EXPECT_GT(fs::file_size(name), 0U) << name;
        EXPECT_FALSE(fs::equivalent(name, path("victim"))) << name;
    }
}

std::uint32_t checksum(const std::string &text) {
    crc32 crc{};
    crc32_begin(&crc);
    crc32_add(&crc, text.data(), text.size());
    return crc32_value(&crc);
}

// The check value of the catalog of CRCs, and others of zlib.
TEST(Crc32, IsThatOfZlib) {
    EXPECT_EQ(checksum(""), 0U);
    EXPECT_EQ(checksum("a"), 0xe8b7be43U);
    EXPECT_EQ(checksum("123456789"), 0xcbf43926U);
    EXPECT_EQ(checksum(std::string(1000, '\0')), 0x060b1780U);
    EXPECT_EQ(checksum("The quick brown fox jumps over the lazy dog"), 0x414fa339U);
}

TEST(Crc32, DoesNotDependOnThePieces) {
    const std::string text = "The quick brown fox jumps over the lazy dog";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        crc32 crc{};
        crc32_begin(&crc);
        crc32_add(&crc, text.data(), cut);
        crc32_add(&crc, text.data() + cut, text.size() - cut);
        EXPECT_EQ(crc32_value(&crc), 0x414fa339U);
    }
}

class SealFile : public Files {};

TEST_F(SealFile, AppendsTheChecksumOfAllBytes) {
    const std::string content(200000, 'x');
    Output output(path("a"));
    output.write(content);
    seal_file(output);
    output.finish();
    EXPECT_EQ(read(path("a")), content + fmt::format("DOWNBEAT-CRC32:{:08x}\n", checksum(content)));
}

TEST_F(SealFile, LeavesDevicesAlone) {
    Output output("/dev/null");
    EXPECT_NO_THROW(seal_file(output));
}

TEST(Progress, TheTimeLeftFollowsFromThePace) {
    EXPECT_EQ(time_left(10, 30, 1.0), "about 3.0 s left");
    EXPECT_EQ(time_left(1, 0, 5.0), "about 0.0 s left");
    EXPECT_EQ(time_left(4, 1, 39.76), "about 9.9 s left");
    EXPECT_EQ(time_left(4, 1, 39.84), "about 10 s left");
    EXPECT_EQ(time_left(1, 2, 60.0), "about 2 min left");
    EXPECT_EQ(time_left(2, 100, 300.0), "about 4.2 h left");
    EXPECT_EQ(time_left(1, 2, 3.0, true), "at least 6.0 s left");
}

const Format &format(const std::string &name) { return find_by_name(all_formats(), name); }

using SinksTest = Files;

TEST_F(SinksTest, TableOfTwoSynchronizersComparesThem) {
    write_fixture(format("table"), path("table"));
    expect_golden(read(path("table")), "comparison.txt");
}

TEST_F(SinksTest, TableOfOneSynchronizerShowsDetails) {
    write_fixture(format("table"), path("table"), "mpi_barrier");
    expect_golden(read(path("table")), "rows.txt");
}

TEST_F(SinksTest, ASimulationSaysSo) {
    SamplingContext context = fixture_context();
    const std::string platform = context.platform_model = "cluster(nodes=2,latency=1e-06)";
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
    const auto values = context_values(context);
    const auto has = [](const ContextValues &all, const ContextValues::value_type &value) {
        return std::find(all.begin(), all.end(), value) != all.end();
    };
    EXPECT_TRUE(has(values, {"late_s", 5e-6}));
    EXPECT_TRUE(has(values, {"late_ranks", 0.5}));
    context.starts = {.late = std::numeric_limits<double>::infinity()};
    EXPECT_TRUE(has(context_values(context), {"late_by", "flags"}));
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
    EXPECT_EQ(reader.attribute("clock_check"), describe_agreement(fixture_agreement()));
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
