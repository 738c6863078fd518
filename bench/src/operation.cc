#include "operation.h"

namespace bench {

const std::vector<OperationInfo> &all_operations() {
#define BENCH_LIST(name) operations::name(),
    static const std::vector<OperationInfo> all = {BENCH_OPERATIONS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

} // namespace bench
