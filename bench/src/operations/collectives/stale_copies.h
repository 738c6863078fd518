#pragma once

#include "operations/collectives/call.h"
#include "text/component.h"

#include <string>

namespace bench {

/// For CollectiveInfo::fault, of gather, scatter and allgather: whether the persistent form sends the contents of the
/// buffers from when it was made, not from when it is started. MPICH up to 4.2 does, in the algorithms that all three
/// share.
std::string find_stale_copies(const Component &component, int ranks, Form form);

} // namespace bench
