#include "output/dataset.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace bench {

std::size_t Dataset::length(const std::string &dimension) const {
    return std::ranges::find(dimensions, dimension, &Dimension::name)->length;
}

std::size_t Dataset::size(const Variable &variable) const {
    return std::accumulate(variable.dimensions.begin(), variable.dimensions.end(), std::size_t{1},
                           [&](std::size_t product, const std::string &name) { return product * length(name); });
}

const Variable *Dataset::coordinates(const std::string &dimension) const {
    const auto found = std::ranges::find_if(
        variables, [&](const Variable &variable) { return variable.name == dimension && is_coordinate(variable); });
    return found == variables.end() ? nullptr : &*found;
}

std::vector<std::vector<const Variable *>> Dataset::tables() const {
    std::vector<std::vector<const Variable *>> tables;
    for (const Variable &variable : variables) {
        if (is_coordinate(variable)) {
            continue;
        }
        const auto table = std::ranges::find_if(
            tables, [&](const auto &candidate) { return candidate.front()->dimensions == variable.dimensions; });
        if (table == tables.end()) {
            tables.push_back({&variable});
        } else {
            table->push_back(&variable);
        }
    }
    return tables;
}

bool is_coordinate(const Variable &variable) {
    return variable.dimensions.size() == 1 && variable.dimensions.front() == variable.name;
}

std::vector<std::size_t> unravel(const Dataset &dataset, const Variable &variable, std::size_t element) {
    std::vector<std::size_t> indices(variable.dimensions.size());
    for (std::size_t d = indices.size(); d-- > 0;) {
        const std::size_t length = dataset.length(variable.dimensions[d]);
        indices[d] = element % length;
        element /= length;
    }
    return indices;
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
    dataset.dimensions.push_back({"rank", context.ranks.size()});
    dataset.add("rank", {"rank"}, "rank in the communicator", "", count_up(context.ranks.size()));
    dataset.add("host", {"rank"}, "host of the rank", "", collect(context.ranks, &RankPlace::host));
    dataset.add("cpuset", {"rank"}, "processors that the rank may run on", "",
                collect(context.ranks, &RankPlace::cpuset));
}

} // namespace bench
