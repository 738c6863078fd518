#pragma once

#include "operation.h"
#include "part.h"

#include <array>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// Computation between the start of a nonblocking operation and the wait for it.
class Computation {
public:
    explicit Computation(const Part &operation);

    /// Where the operation names no time, its own is taken.
    void choose(double own_time);
    /// Seconds planned; 0: nothing is computed.
    double seconds() const { return seconds_; }

    /// Computes for that time, and asks between whether the operation is complete; the time of asking does not count.
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
std::vector<PartParameter> computation_parameters();

/// Whether the operation, by these parameters, computes.
bool computes(const Part &operation);

/// Throws Error::usage where they do not go together.
void check_computation(const Part &operation);

/// The same operation without computation.
Part without_computation(const Part &operation, const OperationInfo &info);

} // namespace bench
