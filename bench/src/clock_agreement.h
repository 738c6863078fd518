#pragma once

#include <string>
#include <vector>

namespace bench {

/// The offset of one rank's global clock to rank 0's, as measured. Seconds.
struct RankOffset {
    double offset;
    double measurement_bound; // of the error of offset
    double error_bound;       // that the library reports for the rank's clock

    /// What the offset may be while all bounds hold.
    double allowed() const { return error_bound + measurement_bound; }
};

/// Whether the clocks of a run still agree at its end, as Niethammer 2016, section III.A asks.
struct ClockAgreement {
    int ranks;      // that were compared with rank 0
    int outside;    // of these, farther off than the bounds allow
    int worst;      // the rank farthest off among those outside, else among all; 0 where there is no other rank
    double offset;  // of that rank, seconds
    double allowed; // to that rank, seconds
};

/// `offsets` of ranks 1, 2, ...
ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets);

/// "measured 0.012 us off rank 0's at most (rank 1), within the bounds (0.034 us)"
std::string describe(const ClockAgreement &agreement);

} // namespace bench
