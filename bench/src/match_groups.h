#pragma once

#include <string>
#include <vector>

namespace bench {

/// What the groups of a regular expression (ECMAScript) match, of each place in the text where it does, in order.
std::vector<std::vector<std::string>> match_groups(const std::string &text, const std::string &expression);

} // namespace bench
