#pragma once

#include "output/context.h"
#include "text/field.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace bench {

constexpr std::size_t unlimited = 0; // length of a dimension that grows

struct Dimension {
    std::string name;
    std::size_t length;
};

/// A field along dimensions. One that is named as its only dimension holds that dimension's coordinates.
struct Variable : Field {
    std::vector<std::string> dimensions; // the last varies fastest
    Values values{};                     // nothing where rows bring them
    std::size_t text_length = 0;         // of texts that rows bring: what is longer is cut off in netCDF
    enum class In {
        all,
        netcdf,
        rows,
        text
    } in = In::all; // which sinks have it: all, netCDF alone, those with a row at a time, or the table for people alone
};

/// The description of results, in the form that all sinks share, and the results themselves unless they come as rows.
struct Dataset {
    std::string title;
    std::vector<Dimension> dimensions;
    std::vector<Variable> variables;
    ContextValues attributes; // the subcommand's options and single numbers

    void add(const Field &field, const std::vector<std::string> &along, Values values);

    /// A variable for each field of the rows, which are those of all combinations of `along`, the last varying fastest.
    /// Lists have one more dimension, `inner`, and are padded to its length.
    template <typename Row>
    void add(const std::vector<FieldOf<Row>> &fields, const std::vector<std::string> &along,
             const std::vector<Row> &rows, const std::vector<std::string> &inner = {},
             Variable::In in = Variable::In::all);

    std::size_t length(const std::string &dimension) const;
    /// The number of elements along the dimensions.
    std::size_t size(const std::vector<std::string> &along) const;
    const Variable *coordinates(const std::string &dimension) const;

    /// The other variables that all sinks have, or those of `kind`, by their index, in groups that have the same
    /// dimensions, in order of appearance: the tables of the dataset.
    std::vector<std::vector<std::size_t>> tables(Variable::In kind = Variable::In::rows) const;

    /// Indices of an element along each of the dimensions.
    std::vector<std::size_t> unravel(const std::vector<std::string> &along, std::size_t element) const;
    /// The coordinates of an element, or its indices along dimensions without coordinates. The first index is `first`
    /// higher.
    std::vector<Value> labels(const std::vector<std::string> &along, std::size_t element, std::size_t first) const;
};

/// Whether the variable holds the coordinates of a dimension.
bool is_coordinate(const Variable &variable);

std::size_t size_of(const Values &values);
Value element(const Values &values, std::size_t index);

/// 0, 1, ...
std::vector<std::int64_t> count_up(std::size_t count);

/// Adds dimension `rank`, unless it is there, with where each rank ran.
void add_ranks(Dataset &dataset, const Context &context);

template <typename Row>
void Dataset::add(const std::vector<FieldOf<Row>> &fields, const std::vector<std::string> &along,
                  const std::vector<Row> &rows, const std::vector<std::string> &inner, Variable::In in) {
    for (const FieldOf<Row> &field : fields) {
        std::vector<std::string> all_along = along;
        all_along.insert(all_along.end(), inner.begin(), inner.end());
        Values joined;
        for (const Row &row : rows) {
            std::visit(
                [&](const auto &values_of_row) {
                    using Element = std::decay_t<decltype(values_of_row[0])>;
                    if (!std::holds_alternative<std::vector<Element>>(joined)) {
                        joined = std::vector<Element>();
                    }
                    auto &values = std::get<std::vector<Element>>(joined);
                    values.insert(values.end(), values_of_row.begin(), values_of_row.end());
                    if constexpr (std::is_arithmetic_v<Element>) {
                        const auto filler = std::is_floating_point_v<Element> ? static_cast<Element>(std::nan("")) : -1;
                        values.insert(values.end(), size(inner) - std::min(size(inner), values_of_row.size()), filler);
                    }
                },
                field.values(row));
        }
        add(field, all_along, std::move(joined));
        variables.back().in = in;
    }
}

} // namespace bench
