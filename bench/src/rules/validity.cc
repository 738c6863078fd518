#include "rules/validity.h"

#include <cmath>

namespace bench {

const std::vector<std::string> &verdict_names() {
    static const std::vector<std::string> names = {"valid", "late_flag", "late_entry", "warmup", "overrun"};
    return names;
}

std::string to_string(Verdict verdict) { return verdict_names()[static_cast<std::size_t>(verdict)]; }

std::size_t StartLimits::late_of(std::size_t ranks) const {
    constexpr double rounding = 1e-9; // 0.29 of 100 ranks are 28.999999999999996
    return static_cast<std::size_t>(late_ranks * static_cast<double>(ranks) + rounding);
}

Verdict judge(const Sample &sample, const StartLimits &limits) {
    const bool planned = !std::isnan(sample.deadline);
    std::size_t failed = 0;
    bool reported = false;
    for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
        const bool flagged = sample.flag[rank] == 0;
        // The flag is decided before the synchronizer returns; an interruption after that shows only in the entry.
        const bool late = planned && sample.entry[rank] > sample.deadline + sample.delay[rank] + limits.late;
        if (late || (flagged && (limits.flags_count || !planned || sample.unsure[rank] != 0))) {
            ++failed;
            reported = reported || flagged;
        }
    }
    if (failed > limits.late_of(sample.entry.size())) {
        return reported ? Verdict::late_flag : Verdict::late_entry;
    }
    if (last_exit(sample) > sample.end) { // not where that is NaN
        return Verdict::overrun;
    }
    return Verdict::valid;
}

} // namespace bench
