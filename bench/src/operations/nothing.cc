#include "operations/operation.h"

namespace bench {
namespace {

class Nothing : public Operation {
public:
    void run() override {}
};

} // namespace

OperationInfo operations::nothing() {
    return unsized_operation(
        {"nothing", "no operation: the synchronizer alone, and the cost of a timestamp", "", {}},
        [](const OperationArguments &) -> std::unique_ptr<Operation> { return std::make_unique<Nothing>(); });
}

} // namespace bench
