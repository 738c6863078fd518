#include "operations/collectives/collective.h"

namespace bench {

Layout Collective::bring(std::uint64_t count, bool in_place, std::uint64_t at) const {
    Layout layout;
    if (in_place) {
        layout.initial = {{at, count, 0, a_.rank, a_.rank}};
    } else {
        layout.send = count;
    }
    return layout;
}

const std::vector<CollectiveInfo> &all_collectives() {
#define BENCH_LIST(name) collectives::name(),
    static const std::vector<CollectiveInfo> all = {BENCH_COLLECTIVES(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
