#include "output/progress.h"

#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::milliseconds log_interval{2000}; // launchers forward standard error through pipes

} // namespace

Progress::Progress(bool quiet, std::size_t steps)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1), steps_(steps), last_(Clock::now()) {}

void Progress::update(std::size_t steps_done, const std::string &what) {
    const bool done = steps_done == steps_;
    const Clock::time_point now = Clock::now();
    if (quiet_ || (!done && now - last_ < (terminal_ ? terminal_interval : log_interval))) {
        return;
    }
    last_ = now;
    const std::string text = fmt::format("downbeat-bench: {:3} %, {}", 100 * steps_done / steps_, what);
    if (terminal_) {
        std::cerr << "\r" << text << "\033[K" << (done ? "\n" : "") << std::flush;
    } else {
        std::cerr << text << std::endl;
    }
}

} // namespace bench
