#pragma once

#include "clocks/global_clock.h"
#include "context/context.h"
#include "mpi/communicator.h"
#include "options/command_line.h"

namespace bench {

/// Collective. The context of this launch; information on other ranks is complete at rank 0 only.
Context gather_context(const Communicator &comm, const GlobalClock &clock, const CommonOptions &options,
                       std::uint64_t seed, const std::string &command_line);

} // namespace bench
