#pragma once

#include "find_by_suffix.h"
#include "reporter.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// The path that stands for standard output.
constexpr const char *standard_output = "-";

struct ReporterInfo {
    std::string name; // of the format
    std::string description;
    std::string suffix;  // of files of this kind; empty where there are none
    bool on_stdout;      // can be printed on standard output
    bool shows_warnings; // on standard output, so that they need not go to standard error
    std::unique_ptr<Reporter> (*make)(const std::string &path);
};

// One line per reporter; reporters/<name>.cc defines the function of that name.
#define BENCH_REPORTERS(REPORTER)                                                                                      \
    REPORTER(table)                                                                                                    \
    REPORTER(csv)                                                                                                      \
    REPORTER(json)                                                                                                     \
    REPORTER(netcdf)

namespace reporters {
#define BENCH_DECLARE(name) ReporterInfo name();
BENCH_REPORTERS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace reporters

const std::vector<ReporterInfo> &all_reporters();

/// The names of what can be printed on standard output.
std::vector<std::string> stdout_formats();

} // namespace bench
