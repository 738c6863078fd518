#pragma once

#include <string>

namespace bench {

/// One line on standard error.
void print_error(const std::string &message);

/// If standard error is a pipe, waits until this process's output to it has been read; at most a second.
void await_errors_read();

} // namespace bench
