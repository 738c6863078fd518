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
    double unsure = 0.0;             // share of its starts whose flag was 0 because of its clock
    double sync_error = 0.0;         // the expected error directly after the last synchronization
    double flag_error = 0.0;         // that flags ask for
    double tolerance = 0.0;          // that this follows from

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
    double unsure = 0.0;          // the largest share of a rank's starts that failed because of its clock, ...
    double known_to = 0.0;        // ... to what its clock is known (one standard deviation), ...
    double asked = 0.0;           // ... to what flags ask for, seconds, ...
    double needed = 0.0;          // ... and the tolerance with which they would ask for no more than that
};

/// `offsets` of ranks 1, 2, ... A rank's clock may be off by its own bound plus that of the surest round.
ClockAgreement judge_clocks(const std::vector<RankOffset> &offsets);

/// "at most 0.012 us off rank 0 (rank 1), within the bounds (0.034 us)"
std::string describe(const ClockAgreement &agreement);

} // namespace bench
