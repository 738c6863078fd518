#include "names.h"

#include "error.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {

std::string join(const std::vector<std::string> &names, std::string_view separator) {
    return fmt::format("{}", fmt::join(names, separator));
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t end = list.find(separator);
        parts.emplace_back(list.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        list.remove_prefix(end + 1);
    }
}

std::vector<std::string> split_outside_parentheses(std::string_view list) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : list) {
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == ',' && depth <= 0) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

void check_names(std::string_view what, const std::vector<std::string> &names, const std::vector<std::string> &valid) {
    for (auto name = names.begin(); name != names.end(); ++name) {
        if (std::find(valid.begin(), valid.end(), *name) == valid.end()) {
            throw Error::usage(fmt::format("unknown {} '{}'; valid are {}", what, *name, join(valid)));
        }
        if (std::find(names.begin(), name, *name) != name) {
            throw Error::usage(fmt::format("{} '{}' is given twice; name each once", what, *name));
        }
    }
}

} // namespace bench
