#include "collective.h"

namespace bench {

const std::vector<CollectiveInfo> &all_collectives() {
#define BENCH_LIST(name) collectives::name(),
    static const std::vector<CollectiveInfo> all = {BENCH_COLLECTIVES(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
