#pragma once

#include "metrics/batch.h"

#include <string>
#include <vector>

namespace bench {

/// Why a sample counts or not. Only the synchronization decides; the duration of the operation matters only if the
/// synchronizer was asked to check it.
enum class Verdict {
    valid,
    late_flag,  // the synchronizer itself reported, on some rank, that it failed
    late_entry, // some rank entered the operation later than the tolerance after its start, though all flags were 1
    warmup,     // not judged: not meant to count
    overrun,    // all started in time, but some rank left the operation after the sample's end
};

/// The name that files use.
std::string to_string(Verdict verdict);
/// The names of all, in order.
const std::vector<std::string> &verdict_names();

/// `tolerance` in seconds; a rank's start is the deadline and its delay. A sample without a deadline is judged by its
/// flags alone.
Verdict judge(const Sample &sample, double tolerance);

} // namespace bench
