#include "experiments/list_report.h"

#include "output/json.h"
#include "output/table.h"
#include "text/words.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <utility>

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

bool lists(const std::vector<ComponentParameter> &parameters, const ComponentParameter &parameter) {
    return std::ranges::any_of(parameters, [&](const ComponentParameter &other) { return same(parameter, other); });
}

bool is_form(const ListedComponent &component) { return component.call && !component.call->collective.empty(); }

/// Returns "MPI_" for "MPI_Ibcast, MPI_Wait".
std::string prefix(const std::string &call) { return call.substr(0, call.find('_') + 1); }

std::string yes(bool exists) { return exists ? "yes" : "-"; }

/// Every line two columns further to the right.
std::string indented(const std::string &text) {
    return concatenated(split(text.substr(0, text.size() - 1), '\n'),
                        [](const std::string &line) { return "  " + line + "\n"; });
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
            if (!lists(rows.back().parameters, parameter) && !lists(rows.back().started, parameter)) {
                rows.back().started.push_back(parameter);
            }
        }
        const auto form = std::ranges::find(forms, component.call->form);
        rows.back().exists[static_cast<std::size_t>(form - forms.begin())] = component.call->unavailable.empty();
    }
    return rows;
}

constexpr std::size_t indent = 29;

std::string list_parameter(const ComponentParameter &parameter) {
    const ComponentValues &values = parameter.values;
    const bool fixed = values.kind == ComponentValues::Kind::choice && values.choices.size() == 1;
    const std::string setting = fmt::format("    {}={}", parameter.name, parameter.value);
    return fmt::format(
        "{:<28}{}{}\n", setting, setting.size() < indent ? " " : "\n" + std::string(indent, ' '),
        fill(fixed ? parameter.meaning : fmt::format("{} ({})", parameter.meaning, values.describe()), indent));
}

std::string list_parameters(const std::vector<Row> &rows, std::vector<ComponentParameter> Row::*of) {
    std::vector<ComponentParameter> parameters;
    for (const Row &row : rows) {
        for (const ComponentParameter &parameter : row.*of) {
            if (!lists(parameters, parameter)) {
                parameters.push_back(parameter);
            }
        }
    }
    std::string text;
    for (const ComponentParameter &parameter : parameters) {
        std::vector<std::string> names;
        for (const Row &row : rows) {
            if (lists(row.*of, parameter)) {
                names.push_back(row.name);
            }
        }
        const bool all = of == &Row::started; // whatever has these forms has their parameters
        text += list_parameter(parameter) + (all ? "" : fmt::format("{:29}[{}]\n", "", fill(join(names), 30)));
    }
    return text;
}

/// The operations among the components that are forms of collectives: a row for each collective, and below them every
/// parameter once, with the collectives that have it. "" if there are none.
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
    const auto absent = [](const std::string &reason) { return fmt::format("  -: {}\n", fill(reason, 5)); };
    return text + concatenated(missing, absent) + "  parameters:\n" + list_parameters(rows, &Row::parameters) +
           "  parameters of the nonblocking and persistent forms only:\n" + list_parameters(rows, &Row::started);
}

/// With its parameters below it.
std::string list_component(const ListedComponent &component) {
    const std::string unit = component.field ? component.field->unit : std::string();
    return fmt::format("  {:<26} {}\n", unit.empty() ? component.name : fmt::format("{} [{}]", component.name, unit),
                       fill(component.source.empty() ? component.description
                                                     : fmt::format("{} [{}]", component.description, component.source),
                            indent)) +
           concatenated(component.parameters, list_parameter);
}

Json to_json(const ComponentParameter &parameter) {
    Json json = {{"name", parameter.name}, {"default", parameter.value}, {"meaning", parameter.meaning}};
    if (parameter.values.kind == ComponentValues::Kind::component) {
        json["kind"] = parameter.values.choices.front();
    } else if (parameter.values.kind == ComponentValues::Kind::choice) {
        json["choices"] = parameter.values.choices;
    } else if (parameter.values.kind != ComponentValues::Kind::text) {
        json["low"] = parameter.values.low;
        json["high"] = parameter.values.high;
        json["whole"] = parameter.values.kind == ComponentValues::Kind::whole;
    }
    return json;
}

} // namespace

std::string list_table(const std::vector<ListedKind> &kinds) {
    std::string text;
    // The same component may be of several kinds; the name alone does not identify it, e.g. skampi.
    std::set<std::pair<std::string, std::string>> described;
    for (const ListedKind &kind : kinds) {
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n",
                            fill(fmt::format("{}: {}", kind.name, kind.description), 2));
        text += list_calls(kind.components);
        std::vector<std::string> known;
        for (const ListedComponent &component : kind.components) {
            if (component.call && !component.call->collective.empty()) {
                continue; // in the table of calls
            }
            if (described.emplace(component.name, component.description).second) {
                text += list_component(component);
            } else {
                known.push_back(component.name);
            }
        }
        if (!known.empty()) {
            text += fmt::format("  {}\n", fill(fmt::format("same as above: {}", join(known)), 12));
        }
    }
    return text;
}

std::string list_json(const std::vector<ListedKind> &kinds) {
    std::string text;
    for (const ListedKind &kind : kinds) {
        for (const ListedComponent &component : kind.components) {
            Json json = json_record("component");
            json.update({{"kind", kind.name},
                         {"name", component.name},
                         {"summary", component.description},
                         {"source", component.source},
                         {"parameters", mapped(component.parameters, to_json)}});
            if (component.field) {
                json["unit"] = component.field->unit;
                for (const auto &[name, value] : component.field->attributes) {
                    std::visit([&, &of = name](const auto &typed) { json[of] = typed; }, value);
                }
            }
            if (const auto &call = component.call) {
                json.update({{"collective", call->collective},
                             {"form", call->form},
                             {"call", call->call},
                             {"size_meaning", call->size_meaning},
                             {"unavailable", call->unavailable},
                             {"flow", call->flow},
                             {"reduces", call->reduces},
                             {"irregular", call->irregular}});
            }
            text += json_line(json);
        }
    }
    return text;
}

} // namespace bench
