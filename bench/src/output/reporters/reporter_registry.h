#pragma once

#include "output/reporters/reporter.h"
#include "text/names.h"

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

namespace reporters {
ReporterInfo table();
ReporterInfo csv();
ReporterInfo json();
ReporterInfo netcdf();
ReporterInfo osu();
ReporterInfo perfetto();
ReporterInfo otf2(); // where its library is
} // namespace reporters

const std::vector<ReporterInfo> &all_reporters();

/// The one that writes a file with the suffix of this path, the longest that fits, as .perfetto.json rather than .json.
/// `of_findings`: among those that write findings. Throws Error::usage where there is none, and says so where this
/// build lacks it.
const ReporterInfo &find_reporter(const std::string &path, bool of_findings = false);

/// The names of what can be printed on standard output.
std::vector<std::string> formats(bool of_findings);

/// The lines at the end of a table: warnings, and the files that were written.
std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files = {});

} // namespace bench
