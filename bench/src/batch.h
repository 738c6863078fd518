#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// One sample: what all ranks stamped in one attempt. Times are seconds on the global clock.
struct Sample {
    double deadline; // NaN where the synchronizer has none
    std::span<const double> entry;
    std::span<const double> exit;
    std::span<const std::uint8_t> flag; // 0 where the synchronizer reported that this rank started late
};

/// Attempts of one cell that were made in one go, in order. Arrays over ranks are sample-major: [sample][rank].
struct Batch {
    std::size_t ranks;
    std::vector<double> deadline; // seconds, per sample
    std::vector<double> slack;    // seconds, per sample; NaN where the synchronizer has none
    std::vector<double> entry;    // seconds, [sample][rank]
    std::vector<double> exit;     // seconds, [sample][rank]
    std::vector<std::uint8_t> flag;
    double error_bound; // seconds, largest over the ranks after the last sample

    std::size_t size() const { return deadline.size(); }

    Sample operator[](std::size_t i) const {
        return {deadline[i], std::span(entry).subspan(i * ranks, ranks), std::span(exit).subspan(i * ranks, ranks),
                std::span(flag).subspan(i * ranks, ranks)};
    }
};

} // namespace bench
