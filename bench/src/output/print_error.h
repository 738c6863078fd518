#pragma once

#include <string>

namespace bench {

/// One line on standard error. Control characters are made visible: \x1b.
void print_error(const std::string &message);

} // namespace bench
