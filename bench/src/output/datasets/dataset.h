#pragma once

#include "context/context.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace bench {

struct Dimension {
    std::string name;
    std::size_t length;
};

/// A named array. One that is named as its only dimension holds that dimension's coordinates.
struct Variable {
    std::string name;
    std::vector<std::string> dimensions; // the last varies fastest
    std::string meaning;                 // one line
    std::string unit;                    // "" if there is none
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>> values;
};

/// The findings of an experiment, in the form that all files share.
struct Dataset {
    std::string title;
    std::vector<Dimension> dimensions;
    std::vector<Variable> variables;
    ContextValues attributes; // the experiment's options and single numbers

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

/// Adds dimension `rank` with where each rank ran.
void add_ranks(Dataset &dataset, const Context &context);

} // namespace bench
