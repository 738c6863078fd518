#include "output/progress.h"

#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace bench {
namespace {

constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::milliseconds log_interval{2000}; // launchers forward standard error through pipes

/// As downbeat run writes it.
std::string duration(double seconds) {
    return seconds < 9.95   ? fmt::format("{:.1f} s", seconds)
           : seconds < 120  ? fmt::format("{:.0f} s", seconds)
           : seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60)
                            : fmt::format("{:.1f} h", seconds / 3600);
}

} // namespace

std::string time_left(std::size_t done, std::size_t left, double seconds, bool at_least) {
    return fmt::format("{} {} left", at_least ? "at least" : "about",
                       duration(seconds * static_cast<double>(left) / static_cast<double>(done)));
}

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) { start(); }

void Progress::start() { begin_ = last_ = Clock::now(); }

void Progress::update(std::size_t done, std::size_t left, const std::string &note, bool at_least) {
    const Clock::time_point now = Clock::now();
    if (now - last_ < (terminal_ ? terminal_interval : log_interval)) {
        return;
    }
    last_ = now;
    const std::chrono::duration<double> passed = now - begin_;
    write(time_left(done, left, passed.count(), at_least) + (note.empty() ? "" : ", " + note), "");
}

void Progress::finish(const std::string &text) { write(text, "\n"); }

void Progress::write(const std::string &text, const char *end) {
    if (quiet_) {
        return;
    }
    if (terminal_) {
        std::cerr << "\rdownbeat-bench: " << text << "\033[K" << end << std::flush;
    } else {
        std::cerr << "downbeat-bench: " << text << std::endl;
    }
}

} // namespace bench
