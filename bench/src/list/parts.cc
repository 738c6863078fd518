#include "list/parts.h"

#include "json_records.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr std::size_t width = 120;

/// Appends words to a line that is already so long, and breaks lines before they grow too wide.
std::string fill(const std::string &text, std::size_t indent) {
    std::string result;
    std::size_t column = indent;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        const std::size_t length = end - start;
        if (column > indent && column + 1 + length >= width) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            result += ' ';
            ++column;
        }
        result += text.substr(start, length);
        column += length;
        start = end + 1;
    }
    return result;
}

std::string describe(const ListedPart &part) {
    constexpr std::size_t indent = 29;
    std::string text = fmt::format(
        "  {:<26} {}\n", part.name,
        fill(part.source.empty() ? part.summary : fmt::format("{} [{}]", part.summary, part.source), indent));
    for (const ListedParameter &parameter : part.parameters) {
        const std::string valid = parameter.kind.empty() ? fmt::format("{} to {}{}", parameter.low, parameter.high,
                                                                       parameter.whole ? ", whole" : "")
                                                         : fmt::format("any of kind {}", parameter.kind);
        text += fmt::format("    {:<24} {}\n", fmt::format("{}={}", parameter.name, parameter.value),
                            fill(fmt::format("{} ({})", parameter.meaning, valid), indent));
    }
    return text;
}

Json to_json(const ListedParameter &parameter) {
    Json json = {{"name", parameter.name}, {"default", parameter.value}, {"meaning", parameter.meaning}};
    if (parameter.kind.empty()) {
        json["low"] = parameter.low;
        json["high"] = parameter.high;
        json["whole"] = parameter.whole;
    } else {
        json["kind"] = parameter.kind;
    }
    return json;
}

} // namespace

std::string list_table(const std::vector<ListedKind> &kinds) {
    std::string text;
    for (const ListedKind &kind : kinds) {
        text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", kind.name, kind.description);
        for (const ListedPart &part : kind.parts) {
            text += describe(part);
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
            text += json_line(json);
        }
    }
    return text;
}

} // namespace bench
