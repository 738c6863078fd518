#pragma once

#include <functional>
#include <mpi.h>
#include <optional>
#include <string>

namespace bench {

/// Collective. Calls `run`, the rank `late` last: a barrier guarantees that no rank leaves before that. Returns the
/// violations that this rank saw: "rank 2 left before this one entered"; nothing on other ranks.
///
/// Messages prove it, not clocks: the late rank knows that all others are about to enter and waits a while; if one
/// reports that it has left, it certainly left too early. Messages that take longer than it waits go unnoticed.
std::optional<std::string> find_early_leaver(MPI_Comm comm, int late, const std::function<void()> &run);

} // namespace bench
