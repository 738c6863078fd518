#pragma once

#include "findings/list/components.h"

#include <string>
#include <vector>

namespace bench {

/// The operations among the components that are forms of collectives: a row for each collective, and below them every
/// parameter once, with the collectives that have it. "" if there are none.
std::string list_calls(const std::vector<ListedComponent> &components);

} // namespace bench
