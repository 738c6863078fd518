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

/// Results that are known at the end.
struct RunEnd {
    std::optional<ClockAgreement> agreement; // of a launch
    std::vector<std::string> warnings;
    std::string text; // for people, all of it
};

/// Values of variables with the same first dimension, from one of its indices on.
struct Rows {
    std::size_t first = 0;
    std::vector<std::pair<std::size_t, Values>> columns{}; // by the index of the variable
    bool partial = false;                                  // not all variables of the table: for netCDF alone
};

/// A file or standard output, at rank 0 alone. The constructor opens it, so that a file that cannot be written is
/// noticed before the measurement. All calls throw Error if writing fails.
class Sink {
public:
    virtual ~Sink() = default;

    /// Before the first row. `described` outlives the sink.
    virtual void open(const Context &context, const Dataset &described) = 0;

    virtual void row(const Rows &rows) = 0;

    /// After the last one.
    virtual void close(const RunEnd &end) = 0;
};

struct Format {
    std::string name;
    std::string description;
    std::string suffix = {};     // of files of this kind; empty where there are none
    bool on_stdout = false;      // can be printed on standard output
    bool shows_warnings = false; // on standard output, so that they need not go to standard error
    std::unique_ptr<Sink> (*make)(const std::string &path) = nullptr;
    /// The text of cells, of formats for people; nullptr: the sink writes rows itself.
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

/// The format of files with the suffix of this path. `of_cells`: among all formats, else among those that write more
/// than cells. Throws Error::usage if no format has this suffix.
const Format &find_format(const std::string &path, bool of_cells = true);

/// The names of what can be printed on standard output.
std::vector<std::string> printed_formats(bool of_cells);

using Sinks = std::vector<std::unique_ptr<Sink>>;

/// The files, and last standard output, so that the files exist when it lists them.
Sinks open_sinks(const std::vector<std::string> &files, const std::string &format);

/// All of a dataset that comes without rows.
void write_dataset(Sink &sink, const Context &context, const Dataset &data, const RunEnd &end);

struct CellField : FieldOf<CellResult> {
    bool planned; // known before the cell is measured, from CellResult::cell alone
};

/// The description of a cell and the outcome of measuring it. One line per field in fields.cc.
const std::vector<CellField> &cell_fields();

/// The same and each statistic of each metric, "makespan_p95": the columns of a table.
const std::vector<CellField> &cell_columns();

/// A variable of samples: of a batch, [sample] or [sample][rank].
struct SampleField : FieldOf<BatchReport> {
    bool per_rank = false;
};

/// All that is stored of a sample; each metric is one of them.
const std::vector<SampleField> &sample_fields();

/// Writes the samples and cells of a launch to all sinks as they come.
class LaunchWriter : public LaunchListener {
public:
    LaunchWriter(Sinks sinks, const SamplingContext &context, const std::vector<Cell> &cells);

    void samples(const BatchReport &report) override;
    void cell(const CellResult &result) override;
    void end(const RunEnd &end);

private:
    /// To each sink.
    void write(const Rows &rows);
    std::size_t index_of(const std::string &name) const;

    Sinks sinks_;
    Dataset described_;
    std::size_t samples_written_ = 0;
    std::size_t timed_ = 0; // indices of variables
    std::size_t calls_ = 0;
    std::size_t first_sample_field_ = 0;
};

} // namespace bench
