#pragma once

#include <string>

namespace bench {

/// One line on standard error.
void print_error(const std::string &message);

} // namespace bench
