#pragma once

#include "text/error.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/format.h>

namespace bench {

/// CLOCK_MONOTONIC_RAW in ns: one for all ranks of a host, and its rate is not steered by NTP, which goes as far as 10
/// %. So its durations are those of the library's clock, which is another one.
inline long unsteered_nanoseconds() {
    timespec time{};
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &time) != 0) {
        throw Error::here(fmt::format("CLOCK_MONOTONIC_RAW cannot be read: {}", std::strerror(errno)));
    }
    return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

} // namespace bench
