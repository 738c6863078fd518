#pragma once

#include <string>

namespace bench {

/// One line on standard error. What a terminal would obey is shown: \x1b.
void print_error(const std::string &message);

} // namespace bench
