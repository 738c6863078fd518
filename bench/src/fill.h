#pragma once

#include <cstddef>
#include <string>

namespace bench {

/// Words, as what follows on a line that is already `indent` long, broken into lines of at most 120 columns with that
/// indent.
std::string fill(const std::string &text, std::size_t indent);

} // namespace bench
