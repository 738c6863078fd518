// Sinks: the output formats of results. A sink gets the description of a dataset, then rows of values, then the end of
// the run. Also the fields of cells and samples, and LaunchWriter, which passes a launch's results to sinks.
#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/cell.h"
#include "text/field.h"
#include "text/words.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Results that are known at the end of a run.
struct RunEnd {
    std::optional<ClockAgreement> agreement; // final check of the clocks; empty for subcommands without it
    std::vector<std::string> warnings;
    std::string text; // complete text of the formats table and osu
};

/// Rows of variables that have the same first dimension.
struct Rows {
    std::size_t first = 0;                                 // index of the first row in the first dimension
    std::vector<std::pair<std::size_t, Values>> columns{}; // index of a variable in the dataset, and its values
    bool partial = false; // true: not all variables of a table; only netCDF writes such rows
};

/// Writes results to a file or to standard output. Rank 0 only. The constructor opens the file, so that errors appear
/// before the measurement. All calls throw Error if writing fails.
class Sink {
public:
    virtual ~Sink() = default;

    /// Called before the first row. `described` outlives the sink.
    virtual void open(const Context &context, const Dataset &described) = 0;

    /// Writes rows. Called any number of times.
    virtual void row(const Rows &rows) = 0;

    /// Called after the last row.
    virtual void close(const RunEnd &end) = 0;
};

/// An output format.
struct Format {
    std::string name;
    std::string description;
    std::string suffix = {};     // of file names; "" if the format is only for standard output
    bool on_stdout = false;      // can be written to standard output
    bool shows_warnings = false; // contains the warnings; otherwise they are printed on standard error
    /// Opens a file, or standard output.
    std::unique_ptr<Sink> (*make)(const std::string &path) = nullptr;
    /// Makes RunEnd::text for cells; null if the sink writes rows instead of a text.
    std::string (*text)(const SamplingContext &context, const std::vector<CellResult> &results,
                        const RunEnd &end) = nullptr;
    bool only_for_cells = false; // subcommands do not have the format
};

namespace formats {
Format table();
Format csv();
Format json();
Format netcdf();
Format osu();
} // namespace formats

const std::vector<Format> &all_formats();

/// The format of a file, by the suffix of its path. `of_cells`: the results are cells; otherwise formats that are only
/// for cells are not valid. Throws Error::usage if no valid format has this suffix.
const Format &find_format(const std::string &path, bool of_cells = true);

/// The names of the formats for standard output. `of_cells`: see find_format.
std::vector<std::string> printed_formats(bool of_cells);

using Sinks = std::vector<std::unique_ptr<Sink>>;

/// Opens a sink for each file and, as the last, standard output, which lists the written files.
Sinks open_sinks(const std::vector<std::string> &files, const std::string &format);

/// Writes a dataset that contains all its values.
void write_dataset(Sink &sink, const Context &context, const Dataset &data, const RunEnd &end);

/// A field of a cell.
struct CellField : FieldOf<CellResult> {
    bool planned; // known before the cell is measured, because it depends only on CellResult::cell
};

/// The properties and results of a cell, without metrics.
const std::vector<CellField> &cell_fields();

/// The fields of cell_fields(), then each statistic of each metric, "makespan_p95".
const std::vector<CellField> &cell_columns();

/// A field of samples. Its value is a list for the samples of a batch: [sample], or [sample][rank] if `per_rank`.
struct SampleField : FieldOf<BatchReport> {
    bool per_rank = false;
};

/// All values that are stored of a sample, including its metrics.
const std::vector<SampleField> &sample_fields();

/// Writes the samples and cells of a launch to all sinks during the run.
class LaunchWriter : public LaunchListener {
public:
    LaunchWriter(Sinks sinks, const SamplingContext &context, const std::vector<Cell> &cells);

    void samples(const BatchReport &report) override;
    void cell(const CellResult &result) override;
    void end(const RunEnd &end);

private:
    /// Writes rows to each sink.
    void write(const Rows &rows);
    /// The index of a variable.
    std::size_t index_of(const std::string &name) const;

    Sinks sinks_;
    Dataset described_;
    std::size_t samples_written_ = 0;
    std::size_t timed_ = 0;              // index of variable `timed`
    std::size_t calls_ = 0;              // index of variable `calls`
    std::size_t first_sample_field_ = 0; // index of the first variable of samples
};

} // namespace bench
