#pragma once

#include "list/parts.h"

#include <string>
#include <vector>

namespace bench {

/// The operations among the parts that are forms of collectives: a row for each collective, and below them every
/// parameter once, with the collectives that have it. "" where there are none.
std::string list_calls(const std::vector<ListedPart> &parts);

} // namespace bench
