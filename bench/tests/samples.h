#pragma once

#include "batch.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bench {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// A batch of one sample.
inline Batch one_sample(double deadline, std::vector<double> entry, std::vector<double> exit,
                        std::vector<std::uint8_t> flag) {
    return {.ranks = entry.size(),
            .deadline = {deadline},
            .slack = {none},
            .entry = entry,
            .exit = std::move(exit),
            .flag = std::move(flag),
            .error_bound = 0.0};
}

} // namespace bench
