#include "output/dataset.h"

#include "rules/statistics.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace bench {

namespace {

// Fraction of a bin. Bins and clock steps are often both a nanosecond, so values fall on edges, and rounding must not
// move them off.
constexpr double rounding = 1e-6;

} // namespace

Histogram make_histogram(std::span<const double> sorted, std::size_t bins, double quantile, double least_width) {
    const double low = sorted.front();
    const double high = std::max(quantile_of_sorted(sorted, quantile), low + least_width * static_cast<double>(bins));
    Histogram histogram{low, high, std::vector<std::size_t>(bins, 0), 0};
    for (const double value : sorted) {
        const double position = (value - low) / histogram.width();
        if (position > static_cast<double>(bins) + rounding) {
            ++histogram.overflow;
        } else {
            ++histogram.counts[std::min(static_cast<std::size_t>(position + rounding), bins - 1)];
        }
    }
    return histogram;
}

namespace {

constexpr double bulk = 0.9;              // share of the values; outliers beyond it leave gaps in any histogram
constexpr std::size_t fewest_groups = 10; // fewer show no shape

std::vector<std::size_t> take_together(const std::vector<std::size_t> &counts, std::size_t per_group) {
    std::vector<std::size_t> groups((counts.size() + per_group - 1) / per_group, 0);
    for (std::size_t bin = 0; bin < counts.size(); ++bin) {
        groups[bin / per_group] += counts[bin];
    }
    return groups;
}

/// Whether a group is empty before most of the values have been seen.
bool has_gaps(const std::vector<std::size_t> &groups) {
    const auto all = static_cast<double>(std::accumulate(groups.begin(), groups.end(), std::size_t{0}));
    std::size_t seen = 0;
    for (const std::size_t group : groups) {
        if (static_cast<double>(seen) >= bulk * all) {
            return false;
        }
        if (group == 0) {
            return true;
        }
        seen += group;
    }
    return false;
}

} // namespace

std::string draw_histogram(const Histogram &histogram, std::size_t columns, std::size_t rows) {
    const std::size_t bins = histogram.counts.size();
    std::size_t per_group = (bins + columns - 1) / columns;
    std::vector<std::size_t> groups = take_together(histogram.counts, per_group);
    while (has_gaps(groups) && bins / (per_group + 1) >= fewest_groups) {
        groups = take_together(histogram.counts, ++per_group);
    }
    std::size_t highest = 1;
    for (const std::size_t group : groups) {
        highest = std::max(highest, group);
    }
    std::string text;
    for (std::size_t row = rows; row > 0; --row) {
        std::string line;
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t height = groups[column * groups.size() / columns];
            // A bar reaches a row when it fills half of it; what is not empty shows at least a dot.
            const bool filled = 2 * height * rows >= (2 * row - 1) * highest;
            line += filled ? '#' : row == 1 && height > 0 ? '.' : ' ';
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += fmt::format("  |{}\n", line);
    }
    return text + fmt::format("  +{}\n", std::string(columns, '-'));
}

void Dataset::add(const Field &field, const std::vector<std::string> &along, Values values) {
    variables.push_back({field, along, std::move(values)});
}

std::size_t Dataset::length(const std::string &dimension) const {
    return std::ranges::find(dimensions, dimension, &Dimension::name)->length;
}

std::size_t Dataset::size(const std::vector<std::string> &along) const {
    return std::accumulate(along.begin(), along.end(), std::size_t{1},
                           [&](std::size_t product, const std::string &name) { return product * length(name); });
}

const Variable *Dataset::coordinates(const std::string &dimension) const {
    const auto found = std::ranges::find_if(
        variables, [&](const Variable &variable) { return variable.name == dimension && is_coordinate(variable); });
    return found == variables.end() ? nullptr : &*found;
}

std::vector<std::vector<std::size_t>> Dataset::tables() const {
    std::vector<std::vector<std::size_t>> tables;
    for (std::size_t i = 0; i < variables.size(); ++i) {
        if (is_coordinate(variables[i]) || variables[i].in == Variable::In::netcdf) {
            continue;
        }
        const auto table = std::ranges::find_if(tables, [&](const auto &candidate) {
            return variables[candidate.front()].dimensions == variables[i].dimensions;
        });
        if (table == tables.end()) {
            tables.push_back({i});
        } else {
            table->push_back(i);
        }
    }
    return tables;
}

std::vector<std::size_t> Dataset::unravel(const std::vector<std::string> &along, std::size_t element) const {
    std::vector<std::size_t> indices(along.size());
    for (std::size_t d = indices.size(); d-- > 0;) {
        const std::size_t count = d == 0 ? element + 1 : length(along[d]); // the first may grow
        indices[d] = element % count;
        element /= count;
    }
    return indices;
}

bool is_coordinate(const Variable &variable) {
    return variable.dimensions.size() == 1 && variable.dimensions.front() == variable.name;
}

std::size_t size_of(const Values &values) {
    return std::visit([](const auto &typed) { return typed.size(); }, values);
}

Value element(const Values &values, std::size_t index) {
    return std::visit([index](const auto &typed) -> Value { return typed[index]; }, values);
}

std::vector<double> bin_edges(const Histogram &histogram) {
    std::vector<double> edges;
    for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
        edges.push_back(histogram.low + static_cast<double>(bin) * histogram.width());
    }
    return edges;
}

std::vector<std::int64_t> count_up(std::size_t count) {
    std::vector<std::int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

void add_ranks(Dataset &dataset, const Context &context) {
    static const std::vector<FieldOf<RankPlace>> fields = {
        {"host", "", "host of the rank", &RankPlace::host},
        {"cpuset", "", "processors that the rank may run on", &RankPlace::cpuset}};
    if (std::ranges::find(dataset.dimensions, "rank", &Dimension::name) == dataset.dimensions.end()) {
        dataset.dimensions.push_back({"rank", context.ranks.size()});
    }
    dataset.add({"rank", "", "rank in the communicator", FieldType::count}, {"rank"}, count_up(context.ranks.size()));
    dataset.add(fields, {"rank"}, context.ranks);
}

} // namespace bench
