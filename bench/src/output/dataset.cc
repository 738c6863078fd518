// Variables, tables and coordinates of a dataset (dataset.h).
#include "output/dataset.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace bench {

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
    const auto match = std::ranges::find_if(
        variables, [&](const Variable &variable) { return variable.name == dimension && is_coordinate(variable); });
    return match == variables.end() ? nullptr : &*match;
}

std::vector<std::vector<std::size_t>> Dataset::tables(Variable::In kind) const {
    std::vector<std::vector<std::size_t>> tables;
    for (std::size_t i = 0; i < variables.size(); ++i) {
        if (is_coordinate(variables[i]) || (variables[i].in != Variable::In::all && variables[i].in != kind)) {
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
        const std::size_t count = d == 0 ? element + 1 : length(along[d]); // the first dimension may be unlimited
        indices[d] = element % count;
        element /= count;
    }
    return indices;
}

std::vector<Value> Dataset::labels(const std::vector<std::string> &along, std::size_t element,
                                   std::size_t first) const {
    std::vector<std::size_t> indices = unravel(along, element);
    indices[0] += first;
    std::vector<Value> values;
    for (std::size_t d = 0; d < along.size(); ++d) {
        const Variable *const names = coordinates(along[d]);
        values.push_back(names == nullptr ? Value(static_cast<std::int64_t>(indices[d]))
                                          : bench::element(names->values, indices[d]));
    }
    return values;
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
