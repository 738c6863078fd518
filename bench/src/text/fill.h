#pragma once

#include <cstddef>
#include <string>

namespace bench {

/// Wraps words into lines of at most 80 columns with this indent; the first line is `indent` long already.
std::string fill(const std::string &text, std::size_t indent);

} // namespace bench
