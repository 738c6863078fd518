#include "operations/unsteered_clock.h"

#include "text/error.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/format.h>

namespace bench {

long unsteered_nanoseconds() {
    timespec time{};
    if (clock_gettime(CLOCK_MONOTONIC_RAW, &time) != 0) {
        throw Error::here(fmt::format("CLOCK_MONOTONIC_RAW cannot be read: {}", std::strerror(errno)));
    }
    return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

void work_until(long time, const std::function<void()> &work) {
    do {
        work();
    } while (unsteered_nanoseconds() < time);
}

} // namespace bench
