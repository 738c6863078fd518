#pragma once

#include "batch.h"

#include <string>

namespace bench {

/// Why a sample counts or not. Only the synchronization decides, never how long the operation took.
enum class Verdict {
    valid,
    late_flag,  // the synchronizer itself reported, on some rank, that it failed
    late_entry, // some rank entered the operation later than the tolerance after its start, though all flags were 1
    warmup,     // not judged: it was never to count
};

/// The name that files use.
std::string to_string(Verdict verdict);

/// `tolerance` in seconds; a rank's start is the deadline and its delay. A sample without a deadline is judged by its
/// flags alone.
Verdict judge(const Sample &sample, double tolerance);

} // namespace bench
