#include "findings/list/calls.h"

#include "text/fill.h"
#include "text/names.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

namespace bench {
namespace {

constexpr std::array<const char *, 3> forms = {"blocking", "nonblocking", "persistent"};

/// A collective.
struct Row {
    std::string name;
    std::string size_meaning;
    std::array<std::string, forms.size()> calls; // without prefix; "-" if there is none
    std::vector<ListedParameter> parameters;
    std::vector<ListedParameter> started; // parameters of the nonblocking and persistent forms alone
};

bool same(const ListedParameter &a, const ListedParameter &b) { return a.name == b.name && a.value == b.value; }

bool contains(const std::vector<ListedParameter> &parameters, const ListedParameter &parameter) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const ListedParameter &other) { return same(parameter, other); });
}

bool is_form(const ListedComponent &component) { return component.call && !component.call->collective.empty(); }

/// Of "MPI_Ibcast, MPI_Wait": "MPI_".
std::string prefix(const std::string &call) { return call.substr(0, call.find('_') + 1); }
/// "Ibcast".
std::string function(const std::string &call) {
    const std::string first = call.substr(0, call.find_first_of(",;"));
    return first.substr(prefix(first).size());
}

std::vector<Row> make_rows(const std::vector<ListedComponent> &components) {
    std::vector<Row> rows;
    for (const ListedComponent &component : components) {
        if (!is_form(component)) {
            continue;
        }
        if (rows.empty() || rows.back().name != component.call->collective) {
            const std::string &size = component.call->size_meaning;
            rows.push_back(
                {component.call->collective, size.empty() ? "-" : size, {"-", "-", "-"}, component.parameters, {}});
        }
        for (const ListedParameter &parameter : component.parameters) {
            if (!contains(rows.back().parameters, parameter) && !contains(rows.back().started, parameter)) {
                rows.back().started.push_back(parameter);
            }
        }
        const auto form = std::find(forms.begin(), forms.end(), component.call->form);
        if (component.call->unavailable.empty()) {
            rows.back().calls[static_cast<std::size_t>(form - forms.begin())] = function(component.call->call);
        }
    }
    return rows;
}

std::string list_parameters(const std::vector<Row> &rows, std::vector<ListedParameter> Row::*of) {
    std::vector<ListedParameter> parameters;
    for (const Row &row : rows) {
        for (const ListedParameter &parameter : row.*of) {
            if (!contains(parameters, parameter)) {
                parameters.push_back(parameter);
            }
        }
    }
    std::string text;
    for (const ListedParameter &parameter : parameters) {
        std::vector<std::string> names;
        for (const Row &row : rows) {
            if (contains(row.*of, parameter)) {
                names.push_back(row.name);
            }
        }
        const bool all = of == &Row::started; // whatever has these forms has their parameters
        text += list_parameter(parameter) + (all ? "" : fmt::format("{:29}[{}]\n", "", fill(join(names), 30)));
    }
    return text;
}

} // namespace

std::string list_calls(const std::vector<ListedComponent> &components) {
    const std::vector<Row> rows = make_rows(components);
    if (rows.empty()) {
        return "";
    }
    std::array<std::string, forms.size()> prefixes;
    std::set<std::string> missing;
    for (const ListedComponent &component : components) {
        if (is_form(component)) {
            const auto form = std::find(forms.begin(), forms.end(), component.call->form);
            prefixes[static_cast<std::size_t>(form - forms.begin())] = prefix(component.call->call);
            missing.insert(component.call->unavailable);
        }
    }
    missing.erase("");
    std::string text = fmt::format(
        "  {:<20} {:<21} {:<20} {:<21} {}\n", "collective", "size: bytes", fmt::format("blocking: {}", prefixes[0]),
        fmt::format("nonblocking: {}", prefixes[1]), fmt::format("persistent: {}", prefixes[2]));
    for (const Row &row : rows) {
        text += fmt::format("  {:<20} {:<21} {:<20} {:<21} {}\n", row.name, row.size_meaning, row.calls[0],
                            row.calls[1], row.calls[2]);
    }
    text += "  nonblocking forms are named like ibcast (the call and MPI_Wait are timed), persistent ones like\n"
            "  bcast_init (MPI_Start and MPI_Wait are timed)\n";
    for (const std::string &reason : missing) {
        text += fmt::format("  -: {}\n", reason);
    }
    return text + "  parameters:\n" + list_parameters(rows, &Row::parameters) +
           "  parameters of the nonblocking and persistent forms only:\n" + list_parameters(rows, &Row::started);
}

} // namespace bench
