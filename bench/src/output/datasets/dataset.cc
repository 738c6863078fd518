#include "output/datasets/dataset.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace bench {

std::size_t Dataset::length(const std::string &dimension) const {
    return std::find_if(dimensions.begin(), dimensions.end(), [&](const Dimension &d) { return d.name == dimension; })
        ->length;
}

std::size_t Dataset::size(const Variable &variable) const {
    return std::accumulate(variable.dimensions.begin(), variable.dimensions.end(), std::size_t{1},
                           [&](std::size_t product, const std::string &name) { return product * length(name); });
}

const Variable *Dataset::coordinates(const std::string &dimension) const {
    const auto found = std::find_if(variables.begin(), variables.end(), [&](const Variable &variable) {
        return variable.name == dimension && is_coordinate(variable);
    });
    return found == variables.end() ? nullptr : &*found;
}

std::vector<std::vector<const Variable *>> Dataset::tables() const {
    std::vector<std::vector<const Variable *>> tables;
    for (const Variable &variable : variables) {
        if (is_coordinate(variable)) {
            continue;
        }
        const auto table = std::find_if(tables.begin(), tables.end(), [&](const auto &candidate) {
            return candidate.front()->dimensions == variable.dimensions;
        });
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

void add_ranks(Dataset &dataset, const Context &context) {
    std::vector<std::int64_t> ranks(context.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<std::string> hosts;
    std::vector<std::string> cpusets;
    for (const RankPlace &place : context.ranks) {
        hosts.push_back(place.host);
        cpusets.push_back(place.cpuset);
    }
    dataset.dimensions.push_back({"rank", ranks.size()});
    dataset.variables.push_back({"rank", {"rank"}, "rank in the communicator", "", ranks});
    dataset.variables.push_back({"host", {"rank"}, "host of the rank", "", hosts});
    dataset.variables.push_back({"cpuset", {"rank"}, "processors that the rank may run on", "", cpusets});
}

} // namespace bench
