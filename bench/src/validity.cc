#include "validity.h"

#include <algorithm>
#include <cmath>

namespace bench {

std::string to_string(Verdict verdict) {
    constexpr const char *names[] = {"valid", "late_flag", "late_entry", "warmup"};
    return names[static_cast<std::size_t>(verdict)];
}

Verdict judge(const Sample &sample, double tolerance) {
    if (std::find(sample.flag.begin(), sample.flag.end(), 0) != sample.flag.end()) {
        return Verdict::late_flag;
    }
    // The flag is decided before the synchronizer returns; what interrupts a rank after that shows in its entry alone.
    if (!std::isnan(sample.deadline)) {
        for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
            if (sample.entry[rank] > sample.deadline + sample.delay[rank] + tolerance) {
                return Verdict::late_entry;
            }
        }
    }
    return Verdict::valid;
}

} // namespace bench
