#pragma once

#include "patterns/arrival_pattern.h"

#include <fmt/format.h>

namespace bench {

/// For patterns in which one rank differs from all others.
inline ComponentParameter single_rank_parameter(const char *meaning) {
    return {"rank", "0", meaning, ComponentValues::whole(0, 1e9)};
}

/// Throws Error::usage if there is no such rank.
inline int single_rank(const PatternArguments &arguments) {
    const long rank = arguments.component.whole("rank");
    if (rank >= arguments.ranks) {
        throw Error::usage(fmt::format("arrival pattern cannot be '{}'; use a rank from 0 to {}",
                                       arguments.component.text(), arguments.ranks - 1));
    }
    return static_cast<int>(rank);
}

} // namespace bench
