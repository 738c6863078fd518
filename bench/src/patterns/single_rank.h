#pragma once

#include "arrival_pattern.h"

#include <fmt/format.h>

namespace bench {

/// For patterns in which one rank differs from all others.
inline PartParameter single_rank_parameter(const char *meaning) {
    return {"rank", "0", meaning, PartValues::whole(0, 1e9)};
}

/// Throws Error::usage where there is no such rank.
inline int single_rank(const PatternArguments &arguments) {
    const long rank = arguments.part.whole("rank");
    if (rank >= arguments.ranks) {
        throw Error::usage(fmt::format("arrival pattern cannot be '{}': valid ranks are 0 to {}", arguments.part.text(),
                                       arguments.ranks - 1));
    }
    return static_cast<int>(rank);
}

} // namespace bench
