#pragma once

#include <functional>
#include <mpi.h>
#include <optional>
#include <string>

namespace bench {

/// Collective. Calls `run`, the rank `late` last: what a barrier promises is that nobody leaves it before that. What
/// that rank saw of others that did: "rank 2 left before this one entered"; nothing elsewhere.
///
/// Messages prove it, no clock: the late rank knows that all others are about to enter, waits a while, and if one tells
/// that it has left, this was too early beyond doubt. Messages that take longer than it waits go unnoticed.
std::optional<std::string> find_early_leaver(MPI_Comm comm, int late, const std::function<void()> &run);

} // namespace bench
