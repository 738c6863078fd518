#pragma once

#include <string>

namespace bench {

/// The simulated platform: "fat-tree(nodes=1024,...)" as `downbeat run --simulate` writes it, or the
/// name of another platform of SimGrid; "" on a machine.
std::string simulated_platform();

} // namespace bench
