// Datasets: results as variables along dimensions, like in netCDF. A launch has the dimensions sample, cell and rank; a
// subcommand has e.g. pair and round. All output formats (sink.h) write this form.
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

constexpr std::size_t unlimited = 0; // length of a dimension that grows while results come

/// A dimension of a dataset.
struct Dimension {
    std::string name;
    std::size_t length; // number of elements, or `unlimited`
};

/// A field along dimensions. A variable with the name of its only dimension holds the coordinates of this dimension.
struct Variable : Field {
    std::vector<std::string> dimensions; // the last varies fastest
    Values values{};                     // empty if they come as rows (Sink::row)
    std::size_t text_length = 0;         // for texts that come as rows: netCDF cuts them to this number of bytes
    /// The formats that have the variable.
    enum class In {
        all,    // in all formats
        netcdf, // only in netCDF
        rows,   // only in formats that write row by row: CSV, JSON
        text    // only in the table on standard output
    } in = In::all;
};

/// The description of results, and the results themselves unless they come as rows.
struct Dataset {
    std::string title;
    std::vector<Dimension> dimensions;
    std::vector<Variable> variables;
    ContextValues attributes; // options and single numbers

    /// Adds a variable along the dimensions `along`.
    void add(const Field &field, const std::vector<std::string> &along, Values values);

    /// Adds a variable for each field. `rows` has a row for each combination of indices of `along`, the last varying
    /// fastest. A field whose value is a list also has the dimensions `inner`; lists are padded to their length.
    template <typename Row>
    void add(const std::vector<FieldOf<Row>> &fields, const std::vector<std::string> &along,
             const std::vector<Row> &rows, const std::vector<std::string> &inner = {},
             Variable::In in = Variable::In::all);

    /// The length of a dimension, which must exist.
    std::size_t length(const std::string &dimension) const;
    /// The number of elements along the dimensions.
    std::size_t size(const std::vector<std::string> &along) const;
    /// The variable with the coordinates of a dimension; null without coordinates.
    const Variable *coordinates(const std::string &dimension) const;

    /// The tables of the dataset: groups of variables with the same dimensions, in order of appearance, as indices in
    /// `variables`. Includes variables in all formats and those in `kind`, without coordinates.
    std::vector<std::vector<std::size_t>> tables(Variable::In kind = Variable::In::rows) const;

    /// The index along each dimension of the `element`-th element.
    std::vector<std::size_t> unravel(const std::vector<std::string> &along, std::size_t element) const;
    /// The coordinates of an element along each dimension, or its index if the dimension has no coordinates. Elements
    /// are counted from the row with index `first` in the first dimension.
    std::vector<Value> labels(const std::vector<std::string> &along, std::size_t element, std::size_t first) const;
};

/// True if the variable holds the coordinates of a dimension.
bool is_coordinate(const Variable &variable);

/// The number of values.
std::size_t size_of(const Values &values);
/// The value at an index.
Value element(const Values &values, std::size_t index);

/// The numbers from 0 to count - 1.
std::vector<std::int64_t> count_up(std::size_t count);

/// Adds dimension `rank`, unless the dataset has it, and the host and processors of each rank.
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
                    if constexpr (std::is_arithmetic_v<Element>) { // pad with NaN or -1
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
