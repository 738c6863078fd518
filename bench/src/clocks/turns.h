#pragma once

#include "mpi/communicator.h"
#include "text/pair.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace bench {

/// Collective. Lets one pair after another work, so that pairs do not disturb each other; all other ranks wait quietly.
/// `work` is called on both ranks of the pair with the pair's position in the list. Ranks return when they have no
/// further part in it.
void take_turns(const Communicator &comm, const std::vector<Pair> &pairs,
                const std::function<void(std::size_t, const Pair &)> &work);

} // namespace bench
