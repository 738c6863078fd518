#pragma once

#include <functional>

namespace bench {

/// Round trips are timed in batches: long compared to reading the clock, short compared to what disturbs them.
struct RoundTripBatches {
    int batches;
    int per_batch;
    double longest;                // s, of a reading; the batch in which it is over is the last
    std::function<bool()> batch;   // makes the trips of one; false: the partner did not answer
    std::function<double()> clock; // s
};

/// The time of a round trip, s: the lower quartile over batches. NaN if it was disturbed: less than a quarter of the
/// batches agree with the fastest one. Asker or partner without a processor lengthens some batches, each by another
/// time, or ends the reading early.
double time_round_trips(const RoundTripBatches &trips);

} // namespace bench
