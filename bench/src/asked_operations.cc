#include "asked_operations.h"

#include "collective.h"
#include "computation.h"
#include "error.h"
#include "experiment.h"
#include "names.h"
#include "user_operation.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>

namespace bench {
namespace {

/// Operations that are no collective in one of its forms.
std::vector<std::string> other_operations() {
    std::vector<std::string> others = names_of(all_operations());
    for (const CollectiveInfo &collective : all_collectives()) {
        std::erase_if(others, [&](const std::string &name) {
            return name == collective.name || name == "i" + collective.name || name == collective.name + "_init";
        });
    }
    return others;
}

/// The operation with those parameters of --with that it has and does not name itself. Marks what it takes in `used`.
std::string with_parameters(const std::string &operation, const OperationInfo &info,
                            const std::vector<std::string> &parameters, std::vector<bool> &used) {
    std::string own = operation.substr(part_name(operation).size());
    std::vector<std::string> added;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::string name = parameters[i].substr(0, parameters[i].find('='));
        const bool has = std::any_of(info.parameters.begin(), info.parameters.end(),
                                     [&](const PartParameter &parameter) { return parameter.name == name; });
        if (!has) {
            continue;
        }
        used[i] = true;
        if (own.find("(" + name + "=") == std::string::npos && own.find("," + name + "=") == std::string::npos) {
            added.push_back(parameters[i]);
        }
    }
    if (added.empty()) {
        return operation;
    }
    if (own.ends_with(')')) {
        own.pop_back();
        return info.name + own + (own == "(" ? "" : ",") + join(added, ",") + ")";
    }
    return info.name + "(" + join(added, ",") + ")";
}

/// What computes beside an operation is compared with the operation alone.
void add_pure(std::vector<AskedOperation> &operations) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const AskedOperation operation = operations[i];
        if (!operation.info.computes || !computes(operation.part)) {
            continue;
        }
        const Part pure = without_computation(operation.part, operation.info);
        const auto known = std::find_if(operations.begin(), operations.end(),
                                        [&](const AskedOperation &other) { return other.part.text() == pure.text(); });
        if (known == operations.end()) {
            operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(i), {pure, operation.info});
            ++i;
        }
    }
}

} // namespace

std::string valid_operations() {
    return fmt::format("{}, each also nonblocking, as ibcast, and persistent, as bcast_init; {}; and the "
                       "file of one's own, as ./my_op.so",
                       join(names_of(all_collectives())), join(other_operations()));
}

std::vector<AskedOperation> parse_operations(const std::vector<std::string> &words,
                                             const std::vector<std::string> &parameters) {
    const std::vector<std::string> experiments = names_of(all_experiments());
    if (words.empty()) {
        throw Error::usage(fmt::format("no operation is given; valid are {}; or, in place of operations, one of {}",
                                       valid_operations(), join(experiments)));
    }
    for (const std::string &name : words) {
        if (std::find(experiments.begin(), experiments.end(), name) != experiments.end()) {
            throw Error::usage(fmt::format("{} is no operation but an experiment of its own; give it in place of the "
                                           "operations, as first word",
                                           name));
        }
    }
    std::vector<bool> used(parameters.size());
    std::vector<AskedOperation> operations;
    std::vector<std::string> texts;
    for (const std::string &text : split_outside_parentheses(join(words, ","))) {
        if (is_user_operation(text)) {
            operations.push_back({user_operation_part(text), load_user_operation(text)});
            texts.push_back(operations.back().part.text());
            continue;
        }
        const std::string name = part_name(text);
        if (const auto known = names_of(all_operations()); std::find(known.begin(), known.end(), name) == known.end()) {
            throw Error::usage(fmt::format("unknown operation '{}'; valid are {}", name, valid_operations()));
        }
        const OperationInfo &info = find_by_name(all_operations(), name);
        if (!info.unavailable.empty()) {
            throw Error::usage(fmt::format("{} cannot be measured: {}", info.name, info.unavailable));
        }
        operations.push_back({Part("operation", with_parameters(text, info, parameters, used), info), info});
        texts.push_back(operations.back().part.text());
    }
    check_names("operation", texts, texts); // none twice
    add_pure(operations);
    const auto unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        throw Error::usage(fmt::format("--with has '{}', but no operation that takes it",
                                       parameters[static_cast<std::size_t>(std::distance(used.begin(), unused))]));
    }
    return operations;
}

bool any_sized(const std::vector<AskedOperation> &operations) {
    return std::any_of(operations.begin(), operations.end(),
                       [](const AskedOperation &operation) { return operation.info.sized(); });
}

void check_sizes(const std::vector<AskedOperation> &operations, const std::vector<std::uint64_t> &sizes, int ranks) {
    for (const auto &[part, info] : operations) {
        const SizeLimits limits = info.limits(part, ranks);
        for (const std::uint64_t size : info.sized() ? sizes : std::vector<std::uint64_t>{}) {
            if (size % limits.divisor != 0) {
                throw Error::usage(fmt::format("{} cannot take messages of {} bytes; valid are multiples of {} bytes",
                                               part.text(), size, limits.divisor));
            }
            if (size > limits.most) {
                throw Error::usage(fmt::format("{} cannot take messages of {} bytes; valid are at most {} bytes",
                                               part.text(), size, limits.most));
            }
        }
    }
}

} // namespace bench
