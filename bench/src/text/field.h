// Fields: each value that the bench reports is described once, by a Field (name, unit, meaning, table column). Files,
// tables, their legends and `downbeat-bench list` all read this description. A list of FieldOf<Row> describes the rows
// of a result: the cells of a run, the schemes of `clock`, the pairs of `rtt`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

/// How a table writes a value.
enum class ColumnKind {
    name,         // left-aligned text; a long text has a line above its rows
    note,         // text on lines below the row; an empty text has no line
    text,         // right-aligned text
    whole,        // number without decimals
    microseconds, // seconds, shown in us with two decimals; with three if a value of the column is below 1 us
    ratio,        // number with two decimals
    percent,      // fraction, shown in percent with one decimal
    ppm,          // fraction, shown in parts per million with four decimals
    fine,         // number with four decimals
    precise,      // number with nine decimals
};

/// A column of a table.
struct Column {
    std::string group;   // common heading above adjacent columns with the same group; "" for none
    std::string heading; // heading of this column
    ColumnKind kind = ColumnKind::microseconds;
    std::string legend{}; // explanation below the table, printed once for columns with the same legend; "" for none
};

/// The type of a value. A flag is an enumeration whose values 0, 1, ... have names.
enum class FieldType { text, count, number, flag };

/// Description of a value.
struct Field {
    std::string name;    // netCDF variable, JSON key and CSV column (to which CSV adds the unit)
    std::string unit;    // "" for none
    std::string meaning; // one line
    FieldType type = FieldType::number;
    Column column{};                  // in tables
    std::vector<std::string> flags{}; // names of the values 0, 1, ... of a flag
    std::vector<std::pair<std::string, std::variant<std::string, long>>> attributes{}; // further netCDF attributes
};

/// Values of a field, row by row. A missing number is NaN. A span points to memory of the caller.
using Values =
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>, std::span<const double>>;

/// A single value of a field.
using Value = std::variant<double, std::int64_t, std::string>;

/// True if a member of this type is a text.
template <typename Type> inline constexpr bool is_text = std::is_convertible_v<Type, std::string>;

/// The type of the field for a member of this type.
template <typename Type> constexpr FieldType field_type() {
    return is_text<Type>                    ? FieldType::text
           : std::is_enum_v<Type>           ? FieldType::flag
           : std::is_floating_point_v<Type> ? FieldType::number
                                            : FieldType::count;
}

/// The element type of Values for a member of this type.
template <typename Type>
using Stored = std::conditional_t<is_text<Type>, std::string,
                                  std::conditional_t<std::is_floating_point_v<Type>, double, std::int64_t>>;

/// A field with a function that reads its value from a row. A field whose value is a list has one more dimension.
template <typename Row> struct FieldOf : Field {
    std::function<Values(const Row &)> values; // the value, or the list of values, of a row

    FieldOf(Field field, std::function<Values(const Row &)> get) : Field(std::move(field)), values(std::move(get)) {}

    /// `get` is a pointer to a member of Row, or a function of a row. Sets `type` from its result.
    template <typename Get>
    FieldOf(std::string of_name, std::string of_unit, std::string of_meaning, Get get, Column of_column = {})
        : Field{std::move(of_name), std::move(of_unit), std::move(of_meaning)} {
        using Result = std::decay_t<std::invoke_result_t<Get, const Row &>>;
        constexpr bool single = std::is_arithmetic_v<Result> || std::is_enum_v<Result> || is_text<Result>;
        column = std::move(of_column);
        if constexpr (single) {
            type = field_type<Result>();
        } else {
            type = field_type<typename Result::value_type>();
        }
        values = [get](const Row &row) -> Values {
            const auto &result = std::invoke(get, row);
            if constexpr (single) {
                return std::vector{static_cast<Stored<Result>>(result)};
            } else {
                return std::vector<Stored<typename Result::value_type>>(result.begin(), result.end());
            }
        };
    }
};

/// The value of a row, for a field that is not a list.
template <typename Row> Value value_of(const FieldOf<Row> &field, const Row &row) {
    return std::visit([](const auto &values) -> Value { return values[0]; }, field.values(row));
}

} // namespace bench
