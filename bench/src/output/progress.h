#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace bench {

/// The progress of the run on standard error: one line that is rewritten on a terminal, else a line now and then.
class Progress {
public:
    Progress(bool quiet, std::size_t steps);

    /// `what` follows the percentage, e.g. "3 of 8 cells complete".
    void update(std::size_t steps_done, const std::string &what);

private:
    using Clock = std::chrono::steady_clock;

    bool quiet_;
    bool terminal_;
    std::size_t steps_;
    Clock::time_point last_;
};

} // namespace bench
