#include "operations/operation.h"

#include <utility>

namespace bench {
namespace {

class Nothing : public Operation {
public:
    void run() override {}
};

} // namespace

const std::vector<OperationInfo> &all_operations() {
    static const std::vector<OperationInfo> all = [] {
        std::vector<OperationInfo> found = collective_operations();
        for (const auto info : {operations::ping_pong, operations::nothing, operations::synthetic}) {
            found.push_back(info());
        }
        return found;
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

OperationInfo operations::nothing() {
    return unsized_operation(
        {"nothing", "no operation: the synchronizer alone, and the cost of a timestamp"},
        [](const OperationArguments &) -> std::unique_ptr<Operation> { return std::make_unique<Nothing>(); });
}

} // namespace bench
