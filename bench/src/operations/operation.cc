#include "operations/operation.h"

#include "operations/collective_operations.h"

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

OperationInfo unsized_operation(ComponentInfo info,
                                std::unique_ptr<Operation> (*make)(const OperationArguments &arguments)) {
    OperationInfo operation;
    static_cast<ComponentInfo &>(operation) = std::move(info);
    operation.limits = [](const Component &, int) { return SizeLimits{}; };
    operation.datatype = [](const Component &, std::uint64_t) { return std::string("none"); };
    operation.make = make;
    return operation;
}

} // namespace bench
