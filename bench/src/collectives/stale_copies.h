#pragma once

#include "collectives/call.h"
#include "part.h"

#include <string>

namespace bench {

/// For CollectiveInfo::fault, of gather, scatter and allgather: whether the persistent form sends what stood in the
/// buffers when it was made, not when it is started. MPICH up to 4.2 does, in the algorithms that all three share.
std::string find_stale_copies(const Part &part, int ranks, Form form);

} // namespace bench
