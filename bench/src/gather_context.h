#pragma once

#include "command_line.h"
#include "communicator.h"
#include "context.h"
#include "global_clock.h"

namespace bench {

/// Collective. The context of this launch; what concerns other ranks is complete at rank 0 alone.
Context gather_context(const Communicator &comm, const GlobalClock &clock, const CommonOptions &options,
                       std::uint64_t seed, const std::string &command_line);

} // namespace bench
