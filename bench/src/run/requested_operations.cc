// Parses operations and checks message sizes (requested_operations.h).
#include "run/requested_operations.h"

#include "operations/collective.h"
#include "operations/operation.h"
#include "run/command_line.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <iterator>

namespace bench {
namespace {

/// Names of the operations that are not a form of a collective.
std::vector<std::string> other_operations() {
    std::vector<std::string> names;
    for (const OperationInfo &info : all_operations()) {
        if (info.collective.empty()) {
            names.push_back(info.name);
        }
    }
    return names;
}

/// The text of an operation with the parameters of --with (`parameters`) that the operation has and does not set
/// itself. Sets the elements of `used` for the parameters that the operation has.
std::string with_parameters(const std::string &operation, const OperationInfo &info,
                            const std::vector<std::string> &parameters, std::vector<bool> &used) {
    std::string suffix = operation.substr(component_name(operation).size());
    std::vector<std::string> added;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::string name = parameters[i].substr(0, parameters[i].find('='));
        const bool has = std::ranges::any_of(
            info.parameters, [&](const ComponentParameter &parameter) { return parameter.name == name; });
        if (!has) {
            continue;
        }
        used[i] = true;
        if (suffix.find("(" + name + "=") == std::string::npos && suffix.find("," + name + "=") == std::string::npos) {
            added.push_back(parameters[i]);
        }
    }
    if (added.empty()) {
        return operation;
    }
    if (suffix.ends_with(')')) {
        suffix.pop_back();
        return info.name + suffix + (suffix == "(" ? "" : ",") + join(added, ",") + ")";
    }
    return info.name + "(" + join(added, ",") + ")";
}

/// Inserts the operation without computation before each operation with computation, unless it is already in the list.
void add_pure(std::vector<RequestedOperation> &operations) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const RequestedOperation operation = operations[i];
        if (!operation.info.computes || !computes(operation.component)) {
            continue;
        }
        const Component pure = without_computation(operation.component, operation.info);
        const auto known = std::ranges::find_if(
            operations, [&](const RequestedOperation &listed) { return listed.component.text() == pure.text(); });
        if (known == operations.end()) {
            operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(i), {pure, operation.info});
            ++i;
        }
    }
}

} // namespace

std::string valid_operations() {
    return fmt::format("{}, each also nonblocking (ibcast) and persistent (bcast_init); {}; or a file with your own "
                       "operation (./my_op.so)",
                       join(names_of(all_collectives())), join(other_operations()));
}

std::vector<RequestedOperation> parse_operations(const std::vector<std::string> &words,
                                                 const std::vector<std::string> &parameters,
                                                 const std::vector<std::string> &subcommands) {
    if (words.empty()) {
        throw Error::usage(fmt::format("no operation is given; choose from {}; or give a subcommand instead: {}",
                                       valid_operations(), join(subcommands)));
    }
    for (const std::string &name : words) {
        if (contains(subcommands, name)) {
            throw Error::usage(fmt::format(
                "{} is a subcommand, not an operation; give it as the first word, without operations", name));
        }
    }
    std::vector<bool> used(parameters.size());
    std::vector<RequestedOperation> operations;
    std::vector<std::string> texts;
    for (const std::string &text : split_outside_parentheses(join(words, ","))) {
        if (is_user_operation(text)) {
            operations.push_back({user_operation_component(text), load_user_operation(text)});
            texts.push_back(operations.back().component.text());
            continue;
        }
        const std::string name = component_name(text);
        if (auto known = names_of(all_operations()); !contains(known, name)) {
            known.insert(known.end(), subcommands.begin(), subcommands.end());
            throw Error::usage(
                fmt::format("unknown operation '{}'; {}", name, suggestion(name, known, valid_operations())));
        }
        const OperationInfo &info = find_by_name(all_operations(), name);
        if (!info.unavailable.empty()) {
            throw Error::usage(fmt::format("{} cannot be measured: {}", info.name, info.unavailable));
        }
        operations.push_back({Component("operation", with_parameters(text, info, parameters, used), info), info});
        texts.push_back(operations.back().component.text());
    }
    check_no_duplicates("operation", texts);
    add_pure(operations);
    const auto unused = std::ranges::find(used, false);
    if (unused != used.end()) {
        throw Error::usage(
            fmt::format("--with '{}' has no effect: no operation given here has that parameter; remove it",
                        parameters[static_cast<std::size_t>(std::distance(used.begin(), unused))]));
    }
    return operations;
}

bool any_sized(const std::vector<RequestedOperation> &operations) {
    return std::ranges::any_of(operations, [](const RequestedOperation &operation) { return operation.info.sized(); });
}

void check_sizes(const std::vector<RequestedOperation> &operations, const std::vector<std::uint64_t> &sizes,
                 int ranks) {
    for (const auto &[component, info] : operations) {
        const SizeLimits limits = info.limits(component, ranks);
        for (const std::uint64_t size : info.sized() ? sizes : std::vector<std::uint64_t>{}) {
            if (size % limits.divisor != 0) {
                throw Error::usage(fmt::format("{} cannot take messages of {} bytes; use a multiple of {} bytes",
                                               component.text(), size, limits.divisor));
            }
            // Limits that depend on the number of ranks are below `unknown_ranks` if that number is unknown, and are
            // then not checked.
            if (size > limits.max && (ranks != unknown_ranks || limits.max >= unknown_ranks)) {
                throw Error::usage(fmt::format("{} cannot take messages of {} bytes; use at most {} bytes",
                                               component.text(), size, limits.max));
            }
        }
    }
}

} // namespace bench
