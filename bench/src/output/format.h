#pragma once

#include "output/sink.h"
#include "rules/cell.h"
#include "text/words.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

struct Format {
    std::string name;
    std::string description;
    std::string suffix = {};     // of files of this kind; empty where there are none
    bool on_stdout = false;      // can be printed on standard output
    bool shows_warnings = false; // on standard output, so that they need not go to standard error
    std::unique_ptr<Sink> (*make)(const std::string &path) = nullptr;
    /// Of formats for people: what they say of cells. Where there is none, it is the sink's work.
    std::string (*text)(const SamplingContext &context, const std::vector<CellResult> &results,
                        const RunEnd &end) = nullptr;
    bool of_cells_alone = false;
};

namespace formats {
Format table();
Format csv();
Format json();
Format netcdf();
Format osu();
} // namespace formats

const std::vector<Format> &all_formats();

/// The one that writes a file with the suffix of this path.
/// `of_cells`: of all, else of those that write more than cells. Throws Error::usage where there is none.
const Format &find_format(const std::string &path, bool of_cells = true);

/// The names of what can be printed on standard output.
std::vector<std::string> printed_formats(bool of_cells);

using Sinks = std::vector<std::unique_ptr<Sink>>;

/// The files, and last standard output, so that the files exist when it lists them.
Sinks open_sinks(const std::vector<std::string> &files, const std::string &format);

/// All of a dataset that comes without rows.
void write_dataset(Sink &sink, const Context &context, const Dataset &data, const RunEnd &end);

} // namespace bench
