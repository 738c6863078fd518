#pragma once

#include <chrono>
#include <cstddef>

namespace bench {

/// How far the launch is, on standard error: one line that is rewritten on a terminal, else a line now and then.
class Progress {
public:
    Progress(bool quiet, std::size_t cells, std::size_t blocks);

    void update(std::size_t cells_done, std::size_t blocks_done, long rejected);

private:
    using Clock = std::chrono::steady_clock;

    bool quiet_;
    bool terminal_;
    std::size_t cells_;
    std::size_t blocks_;
    Clock::time_point last_;
};

} // namespace bench
