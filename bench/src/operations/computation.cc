#include "operations/computation.h"

#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "text/error.h"
#include "text/words.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

// A parameter of operation synthetic that only matters with computation.
constexpr const char *hidden = "hidden";

} // namespace

Computation::Computation(const Component &operation)
    : asked_(operation.is_auto("compute") ? -1.0 : operation.seconds("compute")), tests_(operation.whole("tests")) {
    numbers_.fill(1.0);
}

void Computation::choose(double own_time) { seconds_ = asked_ < 0.0 ? own_time : asked_; }

void Computation::run(MPI_Request *request) {
    const long slice = std::lround(seconds_ * 1e9 / static_cast<double>(tests_ + 1)); // ns
    const auto work = [this] {
        for (double &number : numbers_) { // in the innermost cache, and never far from 1
            number = 0.5 * number + 0.5;
        }
    };
    for (long i = 0; i <= tests_; ++i) {
        const long begin = unsteered_nanoseconds();
        work_until(begin + slice, work);
        computed_ += static_cast<double>(unsteered_nanoseconds() - begin) * 1e-9;
        if (i < tests_) {
            int complete = 0;
            check(MPI_Test(request, &complete, MPI_STATUS_IGNORE), "MPI_Test");
        }
    }
}

double Computation::take() { return std::exchange(computed_, 0.0); }

std::vector<ComponentParameter> computation_parameters() {
    return {{"compute", "0", "computation between call and wait; auto: as long as the operation takes alone",
             ComponentValues::duration(0.0, 1.0).or_word("auto")},
            {"tests", "0", "calls to MPI_Test, spread evenly over the computation", ComponentValues::whole(0, 10000)}};
}

bool computes(const Component &operation) { return operation.is_auto("compute") || operation.seconds("compute") > 0.0; }

void check_computation(const Component &operation) {
    if (operation.whole("tests") > 0 && !computes(operation)) {
        throw Error::usage(fmt::format(
            "{} has tests, but no computation to spread them over; add compute=auto, or compute with a duration",
            operation.text()));
    }
}

Component without_computation(const Component &operation, const OperationInfo &info) {
    std::vector<std::string> others;
    for (const ComponentParameter &parameter : info.parameters) {
        if (parameter.name != "compute" && parameter.name != "tests" && parameter.name != hidden) {
            others.push_back(parameter.name + "=" + operation.word(parameter.name));
        }
    }
    return {"operation", others.empty() ? info.name : fmt::format("{}({})", info.name, join(others, ",")), info};
}

} // namespace bench
