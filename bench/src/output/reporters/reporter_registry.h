#pragma once

#include "output/reporters/reporter.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

struct ReporterInfo {
    std::string name; // of the format
    std::string description;
    std::string suffix;  // of files of this kind; empty where there are none
    bool on_stdout;      // can be printed on standard output
    bool shows_warnings; // on standard output, so that they need not go to standard error
    bool is_trace;       // shows the first samples of each cell as timelines
    std::unique_ptr<Reporter> (*make)(const std::string &path);
    bool of_cells_alone = false; // not of what experiments find
};

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

/// The one that writes this file. Throws Error::usage where there is none, and says so where this build lacks it.
const ReporterInfo &find_reporter(const std::string &path);

/// The names of what can be printed on standard output: of cells, and of what experiments find.
std::vector<std::string> cell_formats();
std::vector<std::string> experiment_formats();

} // namespace bench
