// Tables on standard output: columns as wide as their entries, legends, and the lines above and below a table. The
// format `table` of runs and of subcommands, and the text of format `osu`.
#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "output/sink.h"
#include "rules/cell.h"
#include "text/field.h"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

/// An entry of a table. NaN is written as "-".
using ColumnEntry = std::variant<std::string, double>;

/// The entry for a value of a field: a number, a text, or the name of a flag's value.
ColumnEntry entry_of(const Value &value, const Field &field);

/// The column of a field. Its legend is the field's meaning, unless the field has another legend.
Column column_of(const Field &field);

/// A table. Columns that do not fit a terminal go into another table below, which repeats the first `keys` columns.
class ColumnTable {
public:
    ColumnTable(std::vector<Column> columns, std::size_t keys) : columns_(std::move(columns)), keys_(keys) {}

    /// Adds a row with an entry per column.
    void add(std::vector<ColumnEntry> row) { rows_.push_back(std::move(row)); }
    /// Adds an empty line.
    void add_gap() { rows_.emplace_back(); }

    /// The lines of the table: headings and rows.
    std::string text() const;

private:
    using Block = std::vector<std::size_t>; // indices of the columns that fit side by side

    /// The texts of a column's entries.
    std::vector<std::string> format(std::size_t column) const;
    /// Divides the columns into blocks that fit a terminal. `space`: spaces between columns.
    std::vector<Block> blocks(const std::vector<std::size_t> &widths, std::size_t space) const;
    /// The lines of a block. `texts`: [column][row].
    std::string block_text(const Block &block, const std::vector<std::vector<std::string>> &texts,
                           std::vector<std::size_t> widths, std::size_t space, bool with_notes) const;

    std::vector<Column> columns_;
    std::size_t keys_;                           // number of columns that every block repeats
    std::vector<std::vector<ColumnEntry>> rows_; // an empty row is an empty line
};

/// The legend: a line for each heading with its meaning and unit. Columns with the same meaning share a line.
std::string legend_of(const std::vector<Column> &columns);

/// A line above a table, wrapped: "  samples   100 per cell".
std::string line_above(const std::string &name, const std::string &value);

/// A line above a table with attributes: "  run   stopping rule fixed(samples=100), tolerance 0.500 us". `attributes`
/// has their units.
std::string line_of_values(const std::string &name, const ContextValues &values,
                           const std::vector<Attribute> &attributes);

/// The lines above every table: version, MPI library, ranks, machine.
std::string table_head(const Context &context);

/// The lines above a table about the library's global clock and the final check of the clocks.
std::string clock_lines(const Context &context, const ClockAgreement &agreement);

/// The tables of a dataset and their legend. Variables without a heading are not shown. If a table has two or more
/// dimensions, only some elements of the last dimension are shown, at equal distances.
std::string dataset_tables(const Dataset &data);

/// The output of a run in format `table`.
std::string cells_table(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The output of a run in format `osu`.
std::string osu_text(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The lines below a table: warnings, and the written files.
std::string closing_lines(const RunEnd &end, const std::vector<std::string> &files);

/// The different texts that `describe` returns for the cells, in order of appearance.
std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell));

/// The text of a cell's message size; "-" if the operation has no size.
std::string size_text(const Cell &cell);

} // namespace bench
