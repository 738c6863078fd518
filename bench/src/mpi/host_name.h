#pragma once

#include <string>

namespace bench {

/// The host as MPI names it.
std::string host_name();

} // namespace bench
