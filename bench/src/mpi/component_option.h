#pragma once

#include <string>
#include <vector>

namespace bench {

/// Throws Error::usage with the library's message unless the text is a valid component of the kind ("scheme",
/// "offset").
void check_component(const std::string &option, const char *kind, const std::string &text);

/// The names of all components of a kind, the default first.
std::vector<std::string> component_names(const char *kind);

} // namespace bench
