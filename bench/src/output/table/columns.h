#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

/// The content of a column, which decides how numbers are written.
enum class ColumnKind {
    name,         // text, left-aligned; a long one has a line of its own above its rows
    text,         // right-aligned
    microseconds, // numbers in seconds; three decimals if one in the column is below 1 us, else two
    ratio,        // two decimals
    percent,      // shares of 1, one decimal
};

struct Column {
    std::string group; // heading above those of adjacent columns that have the same group; "" for none
    std::string heading;
    ColumnKind kind;
};

/// An entry of a table; NaN is written as "-".
using ColumnEntry = std::variant<std::string, double>;

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

} // namespace bench
