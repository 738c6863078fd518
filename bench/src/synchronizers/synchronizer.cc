#include "synchronizers/synchronizer.h"

namespace bench {

const std::vector<SynchronizerInfo> &all_synchronizers() {
    static const std::vector<SynchronizerInfo> all = [] {
        std::vector<SynchronizerInfo> found = {synchronizers::none()};
        found.insert(found.end(), all_barriers().begin(), all_barriers().end());
        for (const auto info : {synchronizers::window, synchronizers::roundtime, synchronizers::harmonize}) {
            found.push_back(info());
        }
        return found;
    }();
    return all;
}

} // namespace bench
