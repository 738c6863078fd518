#pragma once

#include "context/context.h"
#include "statistics/histogram.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

struct Dimension {
    std::string name;
    std::size_t length;
};

using Values = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>>;

/// A named array. One that is named as its only dimension holds that dimension's coordinates.
struct Variable {
    std::string name;
    std::vector<std::string> dimensions; // the last varies fastest
    std::string meaning;                 // one line
    std::string unit;                    // "" if there is none
    Values values;
};

/// The results of a subcommand, in the form that all files share.
struct Dataset {
    std::string title;
    std::vector<Dimension> dimensions;
    std::vector<Variable> variables;
    ContextValues attributes; // the subcommand's options and single numbers

    void add(const std::string &name, const std::vector<std::string> &along, const std::string &meaning,
             const std::string &unit, Values values) {
        variables.push_back({name, along, meaning, unit, std::move(values)});
    }

    std::size_t length(const std::string &dimension) const;
    std::size_t size(const Variable &variable) const;
    const Variable *coordinates(const std::string &dimension) const;

    /// The other variables in groups that have the same dimensions, in order of appearance: the tables of the dataset.
    std::vector<std::vector<const Variable *>> tables() const;
};

/// Whether the variable holds the coordinates of a dimension.
bool is_coordinate(const Variable &variable);

/// Indices of an element along each dimension of a variable.
std::vector<std::size_t> unravel(const Dataset &dataset, const Variable &variable, std::size_t element);

/// The left edges of the bins.
std::vector<double> bin_edges(const Histogram &histogram);

/// 0, 1, ...
std::vector<std::int64_t> count_up(std::size_t count);

/// The element types of Values.
template <typename Value>
using Stored = std::conditional_t<std::is_floating_point_v<Value>, double,
                                  std::conditional_t<std::is_integral_v<Value>, std::int64_t, std::string>>;

/// The value of `get`, a member or a function, for each item: a number, a text, or a row of numbers. Rows are padded to
/// `length`, if that is given.
template <typename Items, typename Get>
auto collect(const Items &items, Get get, std::size_t length = 0, double filler = std::nan("")) {
    using Found = std::decay_t<std::invoke_result_t<Get, decltype(*items.begin())>>;
    if constexpr (std::is_arithmetic_v<Found> || std::is_same_v<Found, std::string>) {
        std::vector<Stored<Found>> values;
        for (const auto &item : items) {
            values.push_back(static_cast<Stored<Found>>(std::invoke(get, item)));
        }
        return values;
    } else {
        using Value = Stored<typename Found::value_type>;
        std::vector<Value> values;
        std::size_t end = 0;
        for (const auto &item : items) {
            for (const auto &value : std::invoke(get, item)) {
                values.push_back(static_cast<Value>(value));
            }
            if (end += length; length > 0) {
                values.resize(end, static_cast<Value>(filler));
            }
        }
        return values;
    }
}

/// Adds dimension `rank` with where each rank ran.
void add_ranks(Dataset &dataset, const Context &context);

} // namespace bench
