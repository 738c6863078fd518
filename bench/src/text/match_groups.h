#pragma once

#include <string>
#include <vector>

namespace bench {

/// The groups of a regular expression (ECMAScript) for each match in the text, in order.
std::vector<std::vector<std::string>> match_groups(const std::string &text, const std::string &expression);

} // namespace bench
