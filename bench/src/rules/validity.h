#pragma once

#include "rules/batch.h"

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// Why a sample counts or not. Only the synchronization decides; the duration of the operation matters only if the
/// synchronizer was asked to check it.
enum class Verdict {
    valid,
    late_flag,  // starts failed, on more ranks than may, and the synchronizer itself reported one of them
    late_entry, // ranks entered the operation too long after their starts, though their flags were 1
    warmup,     // not judged: not meant to count
    overrun,    // all started in time, but some rank left the operation after the sample's end
};

/// The name that files use.
std::string to_string(Verdict verdict);
/// The names of all, in order.
const std::vector<std::string> &verdict_names();

/// Which starts fail, and how many may. A rank's start is the deadline and its delay.
struct StartLimits {
    double late = 0.0; // seconds after its start from which a rank is late
    bool flags_count =
        true; // a flag of 0 fails, however late the rank; else only that of a rank that does not know its clock
    double late_ranks = 0.0; // share of the ranks whose starts may fail

    /// The number of ranks that it comes to.
    std::size_t late_of(std::size_t ranks) const;
};

/// A sample without a deadline is judged by its flags alone.
Verdict judge(const Sample &sample, const StartLimits &limits);

} // namespace bench
