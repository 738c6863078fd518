#include "text/names.h"

#include "component_text.h"
#include "text/error.h"
#include "text/suggestion.h"

#include <algorithm>
#include <fmt/format.h>
#include <regex>

namespace bench {

std::string join(const std::vector<std::string> &names, std::string_view separator) {
    return fmt::format("{}", fmt::join(names, separator));
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> components;
    for (;;) {
        const std::size_t end = list.find(separator);
        components.emplace_back(list.substr(0, end));
        if (end == std::string_view::npos) {
            return components;
        }
        list.remove_prefix(end + 1);
    }
}

std::vector<std::string> split_outside_parentheses(std::string_view list) {
    std::vector<std::string> components;
    db_part rest = db_part_of(list.data(), list.size());
    for (db_part word{}; db_next_word(&rest, &word) != 0;) {
        components.emplace_back(word.text, word.length);
    }
    return components;
}

void check_names(std::string_view what, const std::vector<std::string> &names, const std::vector<std::string> &valid) {
    for (auto name = names.begin(); name != names.end(); ++name) {
        if (!contains(valid, *name)) {
            throw Error::usage(fmt::format("unknown {} '{}'; {}", what, *name, suggestion(*name, valid, join(valid))));
        }
        if (std::find(names.begin(), name, *name) != name) {
            throw Error::usage(fmt::format("{} '{}' is given twice; give it once", what, *name));
        }
    }
}

std::vector<std::vector<std::string>> match_groups(const std::string &text, const std::string &expression) {
    const std::regex pattern(expression);
    std::vector<std::vector<std::string>> matches;
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
        matches.emplace_back();
        for (std::size_t group = 1; group < match->size(); ++group) {
            matches.back().push_back((*match)[group].str());
        }
    }
    return matches;
}

std::string fill(const std::string &text, std::size_t indent) {
    std::string result;
    std::size_t column = indent;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        const std::size_t length = end - start;
        if (column > indent && column + 1 + length > terminal_width) {
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

} // namespace bench
