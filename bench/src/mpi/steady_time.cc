// Time and waiting on a real machine (steady_time.h).
#include "mpi/steady_time.h"

#include "text/error.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <limits>
#include <thread>

namespace bench {

double steady_time() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void give_way() { std::this_thread::yield(); }

double true_time() { return std::numeric_limits<double>::quiet_NaN(); }

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

std::string platform_model() { return ""; }

} // namespace bench
