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
    name,         // text, left-aligned; a long one has a line of its own above its rows
    note,         // text on lines of its own below the row; none if it is empty
    text,         // right-aligned
    whole,        // no decimals
    microseconds, // numbers in seconds; three decimals if one in the column is below 1 us, else two
    ratio,        // two decimals
    percent,      // shares of 1, one decimal
    ppm,          // shares of 1, four decimals
    fine,         // four decimals
    precise,      // nine decimals
};

/// A column of a table.
struct Column {
    std::string group; // heading above those of adjacent columns that have the same group; "" for none
    std::string heading;
    ColumnKind kind = ColumnKind::microseconds;
    std::string legend{}; // its meaning, said once for columns that share it; "" for none
};

enum class FieldType { text, count, number, flag };

/// What a value is: the one description that files, tables, their legends and `downbeat-bench list` follow.
struct Field {
    std::string name;    // in all files: of the netCDF variable, the JSON key, the CSV column (which adds the unit)
    std::string unit;    // or ""
    std::string meaning; // one line
    FieldType type = FieldType::number;
    Column column{};                                                                   // in tables
    std::vector<std::string> flags{};                                                  // the words for 0, 1, ...
    std::vector<std::pair<std::string, std::variant<std::string, long>>> attributes{}; // what else files say of it
};

/// Values of a field, row by row; a missing number is NaN. A span refers to memory of its caller's.
using Values =
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>, std::span<const double>>;

/// One of them.
using Value = std::variant<double, std::int64_t, std::string>;

template <typename Type> inline constexpr bool is_text = std::is_convertible_v<Type, std::string>;

template <typename Type> constexpr FieldType field_type() {
    return is_text<Type>                    ? FieldType::text
           : std::is_enum_v<Type>           ? FieldType::flag
           : std::is_floating_point_v<Type> ? FieldType::number
                                            : FieldType::count;
}

/// The type in which values are kept.
template <typename Type>
using Stored = std::conditional_t<is_text<Type>, std::string,
                                  std::conditional_t<std::is_floating_point_v<Type>, double, std::int64_t>>;

/// A field of a kind of row: a cell, a scheme, a pair. Where its value is a list, it has one more dimension.
template <typename Row> struct FieldOf : Field {
    std::function<Values(const Row &)> values; // of one row

    FieldOf(Field field, std::function<Values(const Row &)> get) : Field(std::move(field)), values(std::move(get)) {}

    /// `get`: a member of a row, or a function of it.
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

/// The value of a row where the field has one.
template <typename Row> Value value_of(const FieldOf<Row> &field, const Row &row) {
    return std::visit([](const auto &values) -> Value { return values[0]; }, field.values(row));
}

} // namespace bench
