#include "operation.h"

#include "collective_operations.h"

#include <utility>

namespace bench {

const std::vector<OperationInfo> &all_operations() {
    static const std::vector<OperationInfo> all = [] {
        std::vector<OperationInfo> operations = collective_operations();
#define BENCH_LIST(name) operations.push_back(operations::name());
        BENCH_OPERATIONS(BENCH_LIST)
#undef BENCH_LIST
        return operations;
    }();
    return all;
}

OperationInfo unsized_operation(PartInfo info,
                                std::unique_ptr<Operation> (*make)(const OperationArguments &arguments)) {
    OperationInfo operation;
    static_cast<PartInfo &>(operation) = std::move(info);
    operation.limits = [](const Part &, int) { return SizeLimits{}; };
    operation.datatype = [](const Part &, std::uint64_t) { return std::string("none"); };
    operation.make = make;
    return operation;
}

} // namespace bench
