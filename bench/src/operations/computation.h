#pragma once

#include "operations/operation.h"
#include "text/component.h"

#include <array>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// Computation between the start of a nonblocking operation and the wait for it.
class Computation {
public:
    explicit Computation(const Component &operation);

    /// If the operation names no time, its own duration is used.
    void choose(double own_time);
    /// Seconds planned; 0: nothing is computed.
    double seconds() const { return seconds_; }

    /// Computes for that time, and tests now and then whether the operation is complete; the time of the tests does not
    /// count.
    void run(MPI_Request *request);
    /// Seconds that were really computed since the last call of this; the last step ends later than planned.
    double take();

private:
    double asked_; // seconds; negative: the operation's own time
    long tests_;
    double seconds_ = 0.0;
    double computed_ = 0.0;
    std::array<double, 64> numbers_{};
};

/// Parameters `compute` and `tests`.
std::vector<ComponentParameter> computation_parameters();

/// Whether the operation, by these parameters, computes.
bool computes(const Component &operation);

/// Throws Error::usage if they do not go together.
void check_computation(const Component &operation);

/// The same operation without computation.
Component without_computation(const Component &operation, const OperationInfo &info);

} // namespace bench
