#pragma once

#include "operations/operation.h"

#include <string>
#include <string_view>

namespace bench {

/// Whether an operation's text names a file: it has a slash before its parameters, or ends in ".so".
bool is_user_operation(std::string_view text);

/// The operation with its text in parentheses, "my_op(ring)" for "./my_op.so(ring)". Throws Error::usage.
Component user_operation_component(std::string_view text);

/// Collective over MPI_COMM_WORLD. The operation of a shared object (downbeat/operation.h), which stays loaded. Throws
/// Error::usage if any rank cannot load it.
OperationInfo load_user_operation(std::string_view text);

} // namespace bench
