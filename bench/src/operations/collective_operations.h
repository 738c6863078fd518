#pragma once

#include "operations/operation.h"

#include <vector>

namespace bench {

/// Every collective in its forms: bcast, ibcast, bcast_init.
std::vector<OperationInfo> collective_operations();

} // namespace bench
