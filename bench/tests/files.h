#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>

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

    /// The text equals the file golden/`golden`. BENCH_UPDATE_GOLDEN=1 writes that file anew.
    static void expect_golden(const std::string &text, const std::string &golden) {
        const std::string golden_path = std::string(BENCH_GOLDEN_DIR) + "/" + golden;
        if (std::getenv("BENCH_UPDATE_GOLDEN") != nullptr) {
            std::ofstream(golden_path) << text;
        }
        EXPECT_EQ(text, read(golden_path)) << golden_path;
    }

    /// No line is longer than that.
    static void expect_narrow(const std::string &text, std::size_t columns = 80) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(line.size(), columns) << line;
        }
    }

private:
    std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("downbeat-bench-tests-" + std::to_string(getpid()));
};

} // namespace bench
