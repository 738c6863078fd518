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

/// An entry of a table; NaN is written as "-".
using ColumnEntry = std::variant<std::string, double>;

/// The value of a field, in words if it has flags.
ColumnEntry entry_of(const Value &value, const Field &field);

/// The column of a field. Its legend is the field's meaning unless it has another.
Column column_of(const Field &field);

/// A table whose columns are as wide as their entries. Columns that do not fit a terminal go into a second table below,
/// with the first `keys` columns again.
class ColumnTable {
public:
    ColumnTable(std::vector<Column> columns, std::size_t keys) : columns_(std::move(columns)), keys_(keys) {}

    /// One entry per column.
    void add(std::vector<ColumnEntry> row) { rows_.push_back(std::move(row)); }
    /// An empty line.
    void add_gap() { rows_.emplace_back(); }

    /// Headings and rows, every line with its end.
    std::string text() const;

private:
    using Block = std::vector<std::size_t>; // indices of columns

    std::vector<std::string> format(std::size_t column) const;
    std::vector<Block> blocks(const std::vector<std::size_t> &widths, std::size_t space) const;
    std::string block_text(const Block &block, const std::vector<std::vector<std::string>> &texts,
                           std::vector<std::size_t> widths, std::size_t space, bool with_notes) const;

    std::vector<Column> columns_;
    std::size_t keys_;
    std::vector<std::vector<ColumnEntry>> rows_;
};

/// The headings of columns with their meanings and units; columns of the same meaning share a line.
std::string legend_of(const std::vector<Column> &columns);

/// One of the lines above a table, wrapped: "  samples   100 per cell".
std::string line_above(const std::string &name, const std::string &value);

/// Attributes on such a line: "  run   stopping rule fixed(samples=100), tolerance 0.500 us". `attributes`: have the
/// units.
std::string line_of_values(const std::string &name, const ContextValues &values,
                           const std::vector<Attribute> &attributes);

/// The lines above every table: version, MPI library, ranks, machine.
std::string table_head(const Context &context);

/// The library's global clock, and whether it still agreed at the end.
std::string clock_lines(const Context &context, const ClockAgreement &agreement);

/// A table for each group of variables along the same dimensions, of those that have a heading, and the legend. Of the
/// last of two dimensions or more, some rows are shown, evenly spread.
std::string dataset_tables(const Dataset &data);

/// The table of cells with all around it: MPI_Barrier beside MPIX_Harmonize where just these vary, else a row per cell.
std::string cells_table(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The output of the OSU micro-benchmarks, for scripts that read it: means over samples and ranks.
std::string osu_text(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The lines at the end of a table: warnings, and the files that were written.
std::string closing_lines(const RunEnd &end, const std::vector<std::string> &files);

/// The different texts of the cells, in order of appearance.
std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell));

/// The message size, "-" where the operation has none.
std::string size_text(const Cell &cell);

} // namespace bench
