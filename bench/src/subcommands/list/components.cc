#include "subcommands/list/components.h"

#include "output/json_records.h"
#include "text/fill.h"
#include "text/names.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t indent = 29;

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

std::string list_parameter(const ComponentParameter &parameter) {
    const ComponentValues &values = parameter.values;
    const bool fixed = values.kind == ComponentValues::Kind::choice && values.choices.size() == 1;
    const std::string setting = fmt::format("    {}={}", parameter.name, parameter.value);
    return fmt::format(
        "{:<28}{}{}\n", setting, setting.size() < indent ? " " : "\n" + std::string(indent, ' '),
        fill(fixed ? parameter.meaning : fmt::format("{} ({})", parameter.meaning, values.describe()), indent));
}

std::string list_component(const ListedComponent &component) {
    const std::string unit = component.unit.value_or("");
    std::string text =
        fmt::format("  {:<26} {}\n", unit.empty() ? component.name : fmt::format("{} [{}]", component.name, unit),
                    fill(component.source.empty() ? component.description
                                                  : fmt::format("{} [{}]", component.description, component.source),
                         indent));
    for (const ComponentParameter &parameter : component.parameters) {
        text += list_parameter(parameter);
    }
    return text;
}

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
            json["kind"] = kind.name;
            json["name"] = component.name;
            json["summary"] = component.description;
            json["source"] = component.source;
            json["parameters"] = Json::array();
            for (const ComponentParameter &parameter : component.parameters) {
                json["parameters"].push_back(to_json(parameter));
            }
            if (component.unit) {
                json["unit"] = *component.unit;
            }
            if (component.error_bounds) {
                json["error_bounds"] = *component.error_bounds;
            }
            if (component.call) {
                json["collective"] = component.call->collective;
                json["form"] = component.call->form;
                json["call"] = component.call->call;
                json["size_meaning"] = component.call->size_meaning;
                json["unavailable"] = component.call->unavailable;
            }
            text += json_line(json);
        }
    }
    return text;
}

} // namespace bench
