#pragma once

#include <string>

namespace bench {

/// One line on standard error.
void print_error(const std::string &message);

/// Waits until what this process wrote to standard error, if that is a pipe, has been read; a second at most.
void await_errors_read();

} // namespace bench
