#pragma once

#include "output/context.h"
#include "output/sink.h"
#include "rules/cell.h"
#include "text/field.h"
#include "text/words.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

/// An entry of a table; NaN is written as "-".
using ColumnEntry = std::variant<std::string, double>;

/// A column of a kind of row: a field, or what only a table shows.
template <typename Row> struct ColumnOf : Column { std::function<ColumnEntry(const Row &)> value; };

/// The column of a field.
template <typename Row> ColumnOf<Row> column_of(const FieldOf<Row> &field) {
    Column column = field.column;
    column.legend = column.legend.empty() ? field.meaning : column.legend;
    return {std::move(column), [field](const Row &row) -> ColumnEntry {
                const Value value = value_of(field, row);
                if (const auto *const text = std::get_if<std::string>(&value)) {
                    return *text;
                }
                const auto *const number = std::get_if<double>(&value);
                return number != nullptr ? *number : static_cast<double>(std::get<std::int64_t>(value));
            }};
}

/// The columns of the fields that have a heading.
template <typename Row> std::vector<ColumnOf<Row>> columns_of(const std::vector<FieldOf<Row>> &fields) {
    std::vector<ColumnOf<Row>> columns;
    for (const FieldOf<Row> &field : fields) {
        if (!field.column.heading.empty()) {
            columns.push_back(column_of(field));
        }
    }
    return columns;
}

/// What the columns show, below or above a table: their headings and meanings, with the unit.
std::string legend_of(const std::vector<Column> &columns);

/// A table whose columns are as wide as what is in them.
class ColumnTable {
public:
    explicit ColumnTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One entry per column.
    void add(std::vector<ColumnEntry> row) { rows_.push_back(std::move(row)); }
    /// An empty line.
    void add_gap() { add_note(""); }
    /// A line, or several, below the row before. They do not make columns wider.
    void add_note(std::string note) { rows_.push_back({std::move(note)}); }

    /// Headings and rows, every line with its end.
    std::string text() const;

private:
    bool is_note(const std::vector<ColumnEntry> &row) const { return row.size() != columns_.size(); }
    std::vector<std::string> format(std::size_t column) const;
    std::string group_line(const std::vector<std::size_t> &widths, std::size_t space) const;

    std::vector<Column> columns_;
    std::vector<std::vector<ColumnEntry>> rows_; // or the one text of a note
};

/// A table of rows.
template <typename Row> std::string table_of(const std::vector<ColumnOf<Row>> &columns, const std::vector<Row> &rows) {
    ColumnTable table({columns.begin(), columns.end()});
    for (const Row &row : rows) {
        table.add(mapped(columns, [&](const ColumnOf<Row> &column) { return column.value(row); }));
    }
    return table.text();
}

template <typename Row> std::string legend_of(const std::vector<ColumnOf<Row>> &columns) {
    return legend_of(std::vector<Column>(columns.begin(), columns.end()));
}

/// One of the lines above a table, wrapped: "  samples   100 per cell". Without a name it continues the one before.
std::string line_above(const char *name, const std::string &value);

/// The lines above every table: version, MPI library, ranks, machine.
std::string table_machine(const Context &context);

/// The lines above a table of cells.
std::string table_context(const SamplingContext &context, const ClockAgreement &agreement);

/// The meanings of message sizes, if any, and datatypes: "  bytes     of the message
/// (bcast, ibcast)", "  datatype  MPI_BYTE (bcast, ibcast)".
std::string size_lines(const std::vector<CellResult> &results);

/// The table of cells with all around it: MPI_Barrier beside MPIX_Harmonize where just these vary, else a block per
/// synchronizer with a row per operation and size, or the other way round; computation and delays apart.
std::string cells_table(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The output of the OSU micro-benchmarks, for scripts that read it: means over samples and ranks.
std::string osu_text(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The lines at the end of a table: warnings, and the files that were written.
std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files = {});

/// The rejected share of the attempts.
double rejected_share(const CellResult &result);

/// "bcast, 8 bytes"
std::string describe_subject(const Cell &cell);

/// The different texts of the cells, in order of appearance.
std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell));

/// The message size, "-" where the operation has none.
std::string size_text(const Cell &cell);

} // namespace bench
