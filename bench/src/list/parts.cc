#include "list/parts.h"

#include "list/calls.h"

#include "fill.h"
#include "json_records.h"
#include "names.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t indent = 29;

Json to_json(const ListedParameter &parameter) {
    Json json = {{"name", parameter.name}, {"default", parameter.value}, {"meaning", parameter.meaning}};
    if (!parameter.kind.empty()) {
        json["kind"] = parameter.kind;
    } else if (parameter.values.kind == PartValues::Kind::choice) {
        json["choices"] = parameter.values.choices;
    } else if (parameter.values.kind != PartValues::Kind::text) {
        json["low"] = parameter.values.low;
        json["high"] = parameter.values.high;
        json["whole"] = parameter.values.kind == PartValues::Kind::whole;
    }
    return json;
}

} // namespace

std::string list_parameter(const ListedParameter &parameter) {
    const std::string valid =
        parameter.kind.empty() ? parameter.values.describe() : fmt::format("any of kind {}", parameter.kind);
    return fmt::format("    {:<24} {}\n", fmt::format("{}={}", parameter.name, parameter.value),
                       fill(fmt::format("{} ({})", parameter.meaning, valid), indent));
}

std::string list_part(const ListedPart &part) {
    std::string text = fmt::format(
        "  {:<26} {}\n", part.name,
        fill(part.source.empty() ? part.summary : fmt::format("{} [{}]", part.summary, part.source), indent));
    for (const ListedParameter &parameter : part.parameters) {
        text += list_parameter(parameter);
    }
    return text;
}

std::string list_table(const std::vector<ListedKind> &kinds) {
    std::string text;
    // The same part may be of several kinds; what it is called alone does not tell, as for skampi.
    std::set<std::pair<std::string, std::string>> described;
    for (const ListedKind &kind : kinds) {
        text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", kind.name, kind.description);
        text += list_calls(kind.parts);
        std::vector<std::string> known;
        for (const ListedPart &part : kind.parts) {
            if (part.call && !part.call->collective.empty()) {
                continue; // in the table of calls
            }
            if (described.emplace(part.name, part.summary).second) {
                text += list_part(part);
            } else {
                known.push_back(part.name);
            }
        }
        if (!known.empty()) {
            text += fmt::format("  as above: {}\n", fill(join(known), 12));
        }
    }
    return text;
}

std::string list_json(const std::vector<ListedKind> &kinds) {
    std::string text;
    for (const ListedKind &kind : kinds) {
        for (const ListedPart &part : kind.parts) {
            Json json = json_record("part");
            json["kind"] = kind.name;
            json["name"] = part.name;
            json["summary"] = part.summary;
            json["source"] = part.source;
            json["parameters"] = Json::array();
            for (const ListedParameter &parameter : part.parameters) {
                json["parameters"].push_back(to_json(parameter));
            }
            if (part.call) {
                json["collective"] = part.call->collective;
                json["form"] = part.call->form;
                json["call"] = part.call->call;
                json["size_meaning"] = part.call->size_meaning;
                json["unavailable"] = part.call->unavailable;
            }
            text += json_line(json);
        }
    }
    return text;
}

} // namespace bench
