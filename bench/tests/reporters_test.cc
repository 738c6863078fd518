#include "reporter_registry.h"

#include "error.h"
#include "expect_usage_error.h"
#include "fixture.h"
#include "names.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <netcdf.h>
#include <sstream>
#include <unistd.h>

namespace bench {
namespace {

constexpr const char *warning = "something was seen: it matters; do this";

/// Reports the launch of fixture.h, without the cells of some synchronizer if one is named.
void report(Reporter &reporter, const std::string &without = "") {
    const std::vector<Cell> cells = fixture_cells();
    std::vector<CellRecord> records;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        records.emplace_back(i, cells[i], fixture_context().repetitions);
    }
    reporter.begin(fixture_context(), cells);
    std::size_t block = 0;
    for (const FixtureBatch &fixture : fixture_batches()) {
        CellRecord &record = records[fixture.cell];
        reporter.samples({fixture.cell, block++, record.attempts(), fixture.batch, fixture.verdicts});
        record.add(fixture.batch, fixture.verdicts);
    }
    for (const std::size_t i : {1, 0, 2, 3}) { // as they complete
        if (cells[i].synchronizer != without) {
            reporter.cell(records[i].summarize());
        }
    }
    reporter.end({warning});
}

class Reporters : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(directory_); }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string path(const std::string &name) const { return directory_ / name; }

    static std::string read(const std::string &path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }

    /// What a reporter writes equals the file golden/`golden`. BENCH_UPDATE_GOLDEN=1 writes that file anew.
    void expect_golden(const std::string &reporter, const std::string &golden, const std::string &without = "") const {
        const std::string actual_path = path(golden);
        report(*find_by_name(all_reporters(), reporter).make(actual_path), without);
        const std::string golden_path = std::string(BENCH_GOLDEN_DIR) + "/" + golden;
        if (std::getenv("BENCH_UPDATE_GOLDEN") != nullptr) {
            std::filesystem::copy_file(actual_path, golden_path, std::filesystem::copy_options::overwrite_existing);
        }
        EXPECT_EQ(read(actual_path), read(golden_path)) << golden_path;
    }

private:
    std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("downbeat-bench-tests-" + std::to_string(getpid()));
};

TEST_F(Reporters, TableOfTwoSynchronizersComparesThem) { expect_golden("table", "comparison.txt"); }

TEST_F(Reporters, TableOfOneSynchronizerShowsDetails) { expect_golden("table", "details.txt", "mpi_barrier"); }

TEST_F(Reporters, Csv) { expect_golden("csv", "cells.csv"); }

TEST_F(Reporters, Json) { expect_golden("json", "lines.json"); }

TEST_F(Reporters, NoTableIsWiderThan120Columns) {
    for (const char *golden : {"comparison.txt", "details.txt"}) {
        std::istringstream lines(read(std::string(BENCH_GOLDEN_DIR) + "/" + golden));
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LT(line.size(), 120U) << line;
        }
    }
}

TEST_F(Reporters, CellsWithoutAValidSampleAreNowhereZero) {
    const std::string table = read(std::string(BENCH_GOLDEN_DIR) + "/details.txt");
    const std::size_t row = table.find("\nbarrier");
    EXPECT_EQ(table.substr(row, table.find('\n', row + 1) - row).find(" 0.0"), std::string::npos);
    EXPECT_NE(table.find("failed: barrier under harmonize: 0 of 2 samples valid"), std::string::npos);
}

/// A netCDF file to be read.
class Reader {
public:
    explicit Reader(const std::string &path) { EXPECT_EQ(nc_open(path.c_str(), NC_NOWRITE, &id_), NC_NOERR); }
    ~Reader() { nc_close(id_); }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    int format() const {
        int format = 0;
        EXPECT_EQ(nc_inq_format(id_, &format), NC_NOERR);
        return format;
    }

    std::vector<double> numbers(const std::string &name) const {
        std::vector<double> values(size_of(name));
        EXPECT_EQ(nc_get_var_double(id_, id_of(name), values.data()), NC_NOERR) << name;
        return values;
    }

    std::vector<std::string> texts(const std::string &name) const {
        std::string all(size_of(name), '\0');
        EXPECT_EQ(nc_get_var_text(id_, id_of(name), all.data()), NC_NOERR) << name;
        int last = 0;
        std::size_t width = 0;
        EXPECT_EQ(nc_inq_dimid(id_, "name_len", &last), NC_NOERR);
        EXPECT_EQ(nc_inq_dimlen(id_, last, &width), NC_NOERR);
        std::vector<std::string> values;
        for (std::size_t i = 0; i < all.size(); i += width) {
            values.emplace_back(all.substr(i, width).c_str()); // up to the padding
        }
        return values;
    }

    std::string attribute(const std::string &name, const std::string &variable = "") const {
        const int where = variable.empty() ? NC_GLOBAL : id_of(variable);
        std::size_t length = 0;
        EXPECT_EQ(nc_inq_attlen(id_, where, name.c_str(), &length), NC_NOERR) << name;
        std::string text(length, '\0');
        EXPECT_EQ(nc_get_att_text(id_, where, name.c_str(), text.data()), NC_NOERR) << name;
        return text;
    }

private:
    int id_of(const std::string &name) const {
        int variable = -1;
        EXPECT_EQ(nc_inq_varid(id_, name.c_str(), &variable), NC_NOERR) << name;
        return variable;
    }

    std::size_t size_of(const std::string &name) const {
        int count = 0;
        EXPECT_EQ(nc_inq_varndims(id_, id_of(name), &count), NC_NOERR);
        std::vector<int> dimensions(static_cast<std::size_t>(count));
        EXPECT_EQ(nc_inq_vardimid(id_, id_of(name), dimensions.data()), NC_NOERR);
        std::size_t size = 1;
        for (const int dimension : dimensions) {
            std::size_t length = 0;
            EXPECT_EQ(nc_inq_dimlen(id_, dimension, &length), NC_NOERR);
            size *= length;
        }
        return size;
    }

    int id_ = 0;
};

TEST_F(Reporters, NetcdfHoldsEverySample) {
    const std::string file = path("out.nc");
    report(*find_by_name(all_reporters(), "netcdf").make(file));
    const Reader reader(file);
    EXPECT_EQ(reader.format(), NC_FORMAT_CDF5);

    EXPECT_EQ(reader.numbers("cell_index"), (std::vector<double>{1, 1, 0, 0, 1, 2, 2, 3, 3}));
    EXPECT_EQ(reader.numbers("block"), (std::vector<double>{0, 0, 1, 1, 2, 3, 3, 4, 4}));
    EXPECT_EQ(reader.numbers("attempt"), (std::vector<double>{0, 1, 0, 1, 2, 0, 1, 0, 1}));
    EXPECT_EQ(reader.numbers("valid"), (std::vector<double>{1, 0, 1, 1, 1, 1, 1, 0, 0}));

    std::size_t sample = 0;
    const std::vector<double> deadline = reader.numbers("deadline");
    const std::vector<double> entry = reader.numbers("entry");
    const std::vector<double> exit = reader.numbers("exit");
    const std::vector<double> flag = reader.numbers("flag");
    for (const FixtureBatch &fixture : fixture_batches()) {
        for (std::size_t i = 0; i < fixture.batch.size(); ++i, ++sample) {
            const double expected = fixture.batch.deadline[i];
            EXPECT_TRUE(deadline[sample] == expected || (std::isnan(expected) && std::isnan(deadline[sample])));
            for (std::size_t rank = 0; rank < 2; ++rank) {
                EXPECT_EQ(entry[sample * 2 + rank], fixture.batch[i].entry[rank]);
                EXPECT_EQ(exit[sample * 2 + rank], fixture.batch[i].exit[rank]);
                EXPECT_EQ(flag[sample * 2 + rank], fixture.batch[i].flag[rank]);
            }
        }
    }
    EXPECT_EQ(reader.attribute("units", "entry"), "s");
}

TEST_F(Reporters, NetcdfHoldsCellsAndContext) {
    const std::string file = path("out.nc");
    report(*find_by_name(all_reporters(), "netcdf").make(file));
    const Reader reader(file);

    EXPECT_EQ(reader.texts("operation"), (std::vector<std::string>{"bcast", "bcast", "barrier", "barrier"}));
    EXPECT_EQ(reader.texts("synchronizer"),
              (std::vector<std::string>{"mpi_barrier", "harmonize", "mpi_barrier", "harmonize"}));
    EXPECT_EQ(reader.texts("datatype"), (std::vector<std::string>{"MPI_BYTE", "MPI_BYTE", "none", "none"}));
    EXPECT_EQ(reader.texts("host"), (std::vector<std::string>{"node1", "node1"}));
    EXPECT_EQ(reader.texts("cpuset"), (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(reader.numbers("size"), (std::vector<double>{8, 8, 0, 0}));
    EXPECT_EQ(reader.numbers("valid_count"), (std::vector<double>{2, 2, 2, 0}));
    EXPECT_EQ(reader.numbers("rejected"), (std::vector<double>{0, 1, 0, 2}));
    EXPECT_EQ(reader.numbers("late_flag"), (std::vector<double>{0, 0, 0, 2}));
    EXPECT_EQ(reader.numbers("late_entry"), (std::vector<double>{0, 1, 0, 0}));
    EXPECT_EQ(reader.numbers("status"), (std::vector<double>{0, 0, 0, 2}));
    const std::vector<double> makespan = reader.numbers("makespan_median");
    EXPECT_EQ(makespan[0], 6 * 0x1p-20);
    EXPECT_EQ(makespan[1], 3 * 0x1p-20);
    EXPECT_TRUE(std::isnan(makespan[3]));

    EXPECT_EQ(reader.attribute("command_line"), "downbeat-bench bcast -m 8");
    EXPECT_EQ(reader.attribute("clock_sync"), "hca3_offset");
    EXPECT_EQ(reader.attribute("environment"), "DOWNBEAT_CLOCK=tsc");
    EXPECT_EQ(reader.attribute("seed"), "7");
    EXPECT_EQ(reader.attribute("warnings"), warning);
    EXPECT_NE(reader.attribute("hosts").find("governor performance"), std::string::npos);
}

TEST_F(Reporters, ANetcdfFileCutShortKeepsItsSamples) {
    const std::string file = path("out.nc");
    const std::string copy = path("copy.nc");
    const auto reporter = find_by_name(all_reporters(), "netcdf").make(file);
    const FixtureBatch fixture = fixture_batches()[0];
    reporter->begin(fixture_context(), fixture_cells());
    reporter->samples({fixture.cell, 0, 0, fixture.batch, fixture.verdicts});
    std::filesystem::copy_file(file, copy); // what a crash would leave
    EXPECT_EQ(Reader(copy).numbers("entry"), fixture.batch.entry);
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
    EXPECT_EQ(find_reporter_by_suffix("a/b.nc").name, "netcdf");
    EXPECT_EQ(find_reporter_by_suffix("b.x.csv").name, "csv");
    for (const char *name : {"b", "b.", "b.txt", ".nc", ""}) {
        SCOPED_TRACE(name);
        expect_usage_error([&] { find_reporter_by_suffix(name); }, {".csv, .json, .nc"});
    }
}

} // namespace
} // namespace bench
