#pragma once

#include "output/reporters/reporter.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

struct ReporterInfo {
    std::string name; // of the format
    std::string description;
    std::string suffix = {};     // of files of this kind; empty where there are none
    bool on_stdout = false;      // can be printed on standard output
    bool shows_warnings = false; // on standard output, so that they need not go to standard error
    bool is_trace = false;       // shows the first samples of each cell as timelines
    bool of_cells_alone = false; // cannot write findings
    std::unique_ptr<Reporter> (*make)(const std::string &path);
};

template <typename Kind> std::unique_ptr<Reporter> make_reporter(const std::string &path) {
    return std::make_unique<Kind>(path);
}

// Built where its library is there.
#ifdef BENCH_OTF2
#define BENCH_REPORTERS_OTF2(REPORTER) REPORTER(otf2)
#else
#define BENCH_REPORTERS_OTF2(REPORTER)
#endif

// One line per reporter; reporters/<name>.cc defines the function of that name.
#define BENCH_REPORTERS(REPORTER)                                                                                      \
    REPORTER(table)                                                                                                    \
    REPORTER(matrix)                                                                                                   \
    REPORTER(csv)                                                                                                      \
    REPORTER(json)                                                                                                     \
    REPORTER(netcdf)                                                                                                   \
    REPORTER(osu)                                                                                                      \
    REPORTER(ascii)                                                                                                    \
    REPORTER(perfetto)                                                                                                 \
    BENCH_REPORTERS_OTF2(REPORTER)

namespace reporters {
#define BENCH_DECLARE(name) ReporterInfo name();
BENCH_REPORTERS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace reporters

const std::vector<ReporterInfo> &all_reporters();

/// The one that writes a file with the suffix of this path, the longest that fits, as .perfetto.json rather than .json.
/// Throws Error::usage where there is none, and says so where this build lacks it.
const ReporterInfo &find_reporter(const std::string &path);
/// The same among those that write findings.
const ReporterInfo &find_findings_reporter(const std::string &path);

/// The names of what can be printed on standard output: of cells, and of what other subcommands find.
std::vector<std::string> cell_formats();
std::vector<std::string> findings_formats();

/// The lines at the end of a table: warnings, and the files that were written.
std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files = {});

} // namespace bench
