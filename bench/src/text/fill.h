#pragma once

#include <cstddef>
#include <string>

namespace bench {

/// Columns of a terminal as it opens.
constexpr std::size_t terminal_width = 80;

/// Wraps words into lines as wide as a terminal with this indent; the first line is `indent` long already.
std::string fill(const std::string &text, std::size_t indent);

} // namespace bench
