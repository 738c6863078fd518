// Writes lists of components (list_report.h).
#include "experiments/list_report.h"

#include "output/json.h"
#include "text/words.h"

#include <fmt/format.h>
#include <set>

namespace bench {
namespace {

constexpr std::size_t indent = 29; // column of the descriptions

/// A line with a name after `level` spaces, and its description from column `indent` on, wrapped.
std::string entry(std::size_t level, const std::string &name, const std::string &text) {
    const std::string start = std::string(level, ' ') + name;
    return fmt::format("{:<28}{}{}\n", start, start.size() < indent ? " " : "\n" + std::string(indent, ' '),
                       fill(text, indent));
}

/// The description of a component, with the meaning of its size and its source.
std::string about(const ListedComponent &component) {
    std::vector<std::string> texts = {component.description};
    if (const auto &call = component.call) {
        // The other forms of a collective have the meaning of the blocking form.
        if (!call->size_meaning.empty() && call->form == "blocking") {
            texts.push_back("bytes: " + call->size_meaning);
        }
        if (!call->unavailable.empty()) {
            texts.push_back("not available: " + call->unavailable);
        }
    }
    return join(texts, "; ") + (component.source.empty() ? "" : fmt::format(" [{}]", component.source));
}

/// The meaning of a parameter, and its valid values if there are several.
std::string about(const ComponentParameter &parameter) {
    const ComponentValues &values = parameter.values;
    const bool fixed = values.kind == ComponentValues::Kind::choice && values.choices.size() == 1;
    return fixed ? parameter.meaning : fmt::format("{} ({})", parameter.meaning, values.describe());
}

/// A component and its parameters. Parameters with descriptions that have already been printed (`described`) are only
/// named.
std::string list_component(const ListedComponent &component, std::set<std::string> &described) {
    const std::string unit = component.field ? component.field->unit : "";
    std::string text = entry(2, component.name + (unit.empty() ? "" : fmt::format(" [{}]", unit)), about(component));
    std::vector<std::string> known;
    for (const ComponentParameter &parameter : component.parameters) {
        const std::string setting = fmt::format("{}={}", parameter.name, parameter.value);
        if (described.insert(setting + about(parameter)).second) {
            text += entry(4, setting, about(parameter));
        } else {
            known.push_back(setting);
        }
    }
    return text + (known.empty() ? "" : entry(4, "as above", join(known)));
}

Json to_json(const ComponentParameter &parameter) {
    Json json = {{"name", parameter.name}, {"default", parameter.value}, {"meaning", parameter.meaning}};
    if (parameter.values.kind == ComponentValues::Kind::component) {
        json["kind"] = parameter.values.choices.front(); // the only element, see ComponentValues
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
    std::set<std::string> described;
    for (const ListedKind &kind : kinds) {
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n",
                            fill(fmt::format("{}: {}", kind.name, kind.description), 2));
        text += concatenated(kind.components,
                             [&](const ListedComponent &component) { return list_component(component, described); });
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
