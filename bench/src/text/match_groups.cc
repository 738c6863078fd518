#include "text/match_groups.h"

#include <regex>

namespace bench {

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

} // namespace bench
