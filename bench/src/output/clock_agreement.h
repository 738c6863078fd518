#pragma once

#include <string>
#include <vector>

namespace bench {

/// One measurement of the offset of a rank's global clock to rank 0's. Seconds.
struct OffsetRound {
    double offset;
    double bound; // of the error of offset
};

/// The measurements of one rank's global clock. Seconds.
struct RankOffset {
    std::vector<OffsetRound> rounds; // one at least
    double error_bound;              // that the library reports for the rank's clock
    long long contradictions = 0;    // that it counted

    /// The round with the narrowest bound. The one with the smallest offset could hide a wrong clock: a delayed message
    /// widens the bound and can shift the offset towards 0.
    const OffsetRound &surest() const;
};

/// Whether the clocks of a run still agree at its end, as Niethammer 2016, section III.A asks.
struct ClockAgreement {
    int ranks;      // that were compared with rank 0
    int outside;    // of these, farther off than the bounds allow
    int worst;      // the rank farthest off among those outside, else among all; 0 if there is no other rank
    double offset;  // of that rank, seconds
    double allowed; // to that rank, seconds

    long long contradictions = 0; // of what the library assumes, by the clocks of all ranks in the run
};

/// `offsets` of ranks 1, 2, ... A rank's clock may be off by its own bound plus that of the surest round.
ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets);

/// "at most 0.012 us off rank 0 (rank 1), within the bounds (0.034 us)"
std::string describe(const ClockAgreement &agreement);

} // namespace bench
