#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace bench {

/// "about 12 s left", or "at least 12 s left".
std::string time_left(std::size_t done, std::size_t left, double seconds, bool at_least = false);

/// The progress of the run on standard error: one line that is rewritten on a terminal, else a line now and then.
class Progress {
public:
    explicit Progress(bool quiet);

    /// The time before does not count.
    void start();

    /// Shows the time left, and a note, e.g. "3 samples rejected". `at_least`: there may be more steps.
    void update(std::size_t done, std::size_t left, const std::string &note = "", bool at_least = false);
    /// The last line, e.g. "8 of 8 cells complete".
    void finish(const std::string &text);

private:
    using Clock = std::chrono::steady_clock;

    void write(const std::string &text, const char *end);

    bool quiet_;
    bool terminal_;
    Clock::time_point begin_;
    Clock::time_point last_; // update
};

} // namespace bench
