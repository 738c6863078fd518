#pragma once

#include <string>
#include <vector>

namespace bench {

/// Throws Error::usage, in the library's words, unless the text is a valid part of the kind ("scheme", "offset").
void check_part(const std::string &option, const char *kind, const std::string &text);

/// The names of all parts of a kind, the default first.
std::vector<std::string> part_names(const char *kind);

} // namespace bench
