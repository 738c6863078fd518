#include "subcommands/list/components.h"

#include "output/table/columns.h"
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
    std::array<bool, forms.size()> exists;
    std::vector<ComponentParameter> parameters;
    std::vector<ComponentParameter> started; // parameters of the nonblocking and persistent forms alone
};

bool same(const ComponentParameter &a, const ComponentParameter &b) { return a.name == b.name && a.value == b.value; }

bool contains(const std::vector<ComponentParameter> &parameters, const ComponentParameter &parameter) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const ComponentParameter &other) { return same(parameter, other); });
}

bool is_form(const ListedComponent &component) { return component.call && !component.call->collective.empty(); }

/// Of "MPI_Ibcast, MPI_Wait": "MPI_".
std::string prefix(const std::string &call) { return call.substr(0, call.find('_') + 1); }

std::string yes(bool exists) { return exists ? "yes" : "-"; }

/// Every line two columns further to the right.
std::string indented(const std::string &text) {
    std::string result;
    for (const std::string &line : split(text.substr(0, text.size() - 1), '\n')) {
        result += "  " + line + "\n";
    }
    return result;
}

std::vector<Row> make_rows(const std::vector<ListedComponent> &components) {
    std::vector<Row> rows;
    for (const ListedComponent &component : components) {
        if (!is_form(component)) {
            continue;
        }
        if (rows.empty() || rows.back().name != component.call->collective) {
            const std::string &size = component.call->size_meaning;
            rows.push_back({component.call->collective,
                            size.empty() ? "-" : size,
                            {false, false, false},
                            component.parameters,
                            {}});
        }
        for (const ComponentParameter &parameter : component.parameters) {
            if (!contains(rows.back().parameters, parameter) && !contains(rows.back().started, parameter)) {
                rows.back().started.push_back(parameter);
            }
        }
        const auto form = std::find(forms.begin(), forms.end(), component.call->form);
        rows.back().exists[static_cast<std::size_t>(form - forms.begin())] = component.call->unavailable.empty();
    }
    return rows;
}

std::string list_parameters(const std::vector<Row> &rows, std::vector<ComponentParameter> Row::*of) {
    std::vector<ComponentParameter> parameters;
    for (const Row &row : rows) {
        for (const ComponentParameter &parameter : row.*of) {
            if (!contains(parameters, parameter)) {
                parameters.push_back(parameter);
            }
        }
    }
    std::string text;
    for (const ComponentParameter &parameter : parameters) {
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
    std::string persistent; // what persistent calls begin with
    std::set<std::string> missing;
    for (const ListedComponent &component : components) {
        if (is_form(component)) {
            persistent = component.call->form == forms.back() ? prefix(component.call->call) : persistent;
            missing.insert(component.call->unavailable);
        }
    }
    missing.erase("");
    ColumnTable table({{"", "collective", ColumnKind::name},
                       {"", "size: bytes", ColumnKind::name},
                       {"", forms[0], ColumnKind::text},
                       {"", forms[1], ColumnKind::text},
                       {"", forms[2], ColumnKind::text}});
    for (const Row &row : rows) {
        table.add({row.name, row.size_meaning, yes(row.exists[0]), yes(row.exists[1]), yes(row.exists[2])});
    }
    std::string text = indented(table.text());
    const std::string names = fmt::format("The forms of bcast are bcast (MPI_Bcast), ibcast (MPI_Ibcast; the call and "
                                          "MPI_Wait are timed) and bcast_init ({}Bcast_init; MPI_Start and MPI_Wait "
                                          "are timed); those of the others are named likewise.",
                                          persistent);
    text += fmt::format("  {}\n", fill(names, 2));
    for (const std::string &reason : missing) {
        text += fmt::format("  -: {}\n", fill(reason, 5));
    }
    return text + "  parameters:\n" + list_parameters(rows, &Row::parameters) +
           "  parameters of the nonblocking and persistent forms only:\n" + list_parameters(rows, &Row::started);
}

} // namespace bench
