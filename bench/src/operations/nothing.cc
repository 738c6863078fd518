#include "operation.h"

namespace bench {
namespace {

class Nothing : public Operation {
public:
    void run() override {}
};

} // namespace

OperationInfo operations::nothing() {
    return {{"nothing", "no operation: the synchronizer alone, and what a stamp costs", "", {}},
            {.sized = false, .rooted = false, .size_divisor = 1, .max_size = 0},
            [](std::uint64_t) -> std::string { return "none"; },
            [](const OperationArguments &) -> std::unique_ptr<Operation> { return std::make_unique<Nothing>(); }};
}

} // namespace bench
