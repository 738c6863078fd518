#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <netcdf.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace bench {

/// Tests that write files, in a folder of their own.
class Files : public testing::Test {
protected:
    void SetUp() override { std::filesystem::create_directories(directory_); }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string path(const std::string &name) const { return directory_ / name; }

    static std::string read(const std::string &path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }

    /// The text equals the file golden/`golden`, and fits a terminal. BENCH_UPDATE_GOLDEN=1 writes that file anew.
    static void expect_golden(const std::string &text, const std::string &golden, std::size_t columns = 80) {
        const std::string golden_path = std::string(BENCH_GOLDEN_DIR) + "/" + golden;
        if (std::getenv("BENCH_UPDATE_GOLDEN") != nullptr) {
            std::ofstream(golden_path) << text;
        }
        EXPECT_EQ(text, read(golden_path)) << golden_path;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(line.size(), columns) << line;
        }
    }

private:
    std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("downbeat-bench-tests-" + std::to_string(getpid()));
};

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
        const std::size_t width = lengths(name).back();
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

    std::vector<std::size_t> lengths(const std::string &name) const {
        int count = 0;
        EXPECT_EQ(nc_inq_varndims(id_, id_of(name), &count), NC_NOERR);
        std::vector<int> dimensions(static_cast<std::size_t>(count));
        EXPECT_EQ(nc_inq_vardimid(id_, id_of(name), dimensions.data()), NC_NOERR);
        std::vector<std::size_t> lengths;
        for (const int dimension : dimensions) {
            std::size_t length = 0;
            EXPECT_EQ(nc_inq_dimlen(id_, dimension, &length), NC_NOERR);
            lengths.push_back(length);
        }
        return lengths;
    }

    std::size_t size_of(const std::string &name) const {
        std::size_t size = 1;
        for (const std::size_t length : lengths(name)) {
            size *= length;
        }
        return size;
    }

    int id_ = 0;
};

} // namespace bench
