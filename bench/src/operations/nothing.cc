#include "operation.h"

namespace bench {
namespace {

class Nothing : public Operation {
public:
    void run() override {}
};

} // namespace

OperationInfo operations::nothing() {
    return unsized_operation(
        {"nothing", "no operation: the synchronizer alone, and what a stamp costs", "", {}},
        [](const OperationArguments &) -> std::unique_ptr<Operation> { return std::make_unique<Nothing>(); });
}

} // namespace bench
