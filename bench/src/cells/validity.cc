#include "cells/validity.h"

#include "metrics/sample_times.h"

#include <algorithm>
#include <cmath>

namespace bench {

const std::vector<std::string> &verdict_names() {
    static const std::vector<std::string> names = {"valid", "late_flag", "late_entry", "warmup", "overrun"};
    return names;
}

std::string to_string(Verdict verdict) { return verdict_names()[static_cast<std::size_t>(verdict)]; }

Verdict judge(const Sample &sample, double tolerance) {
    if (std::find(sample.flag.begin(), sample.flag.end(), 0) != sample.flag.end()) {
        return Verdict::late_flag;
    }
    // The flag is decided before the synchronizer returns; an interruption after that shows only in the rank's entry.
    if (!std::isnan(sample.deadline)) {
        for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
            if (sample.entry[rank] > sample.deadline + sample.delay[rank] + tolerance) {
                return Verdict::late_entry;
            }
        }
    }
    if (last_exit(sample) > sample.end) { // not where that is NaN
        return Verdict::overrun;
    }
    return Verdict::valid;
}

} // namespace bench
