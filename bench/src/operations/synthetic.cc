#include "error.h"
#include "mpi_check.h"
#include "operation.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fmt/format.h>

namespace bench {
namespace {

/// An operation that communicates nothing, so that what it takes is known: each rank stays for a time of its own.
class Synthetic : public Operation {
public:
    explicit Synthetic(const OperationArguments &arguments)
        : duration_(to_nanoseconds(arguments.part.seconds("duration"))),
          grid_(to_nanoseconds(arguments.part.seconds("grid"))) {
        int rank = 0;
        check(MPI_Comm_rank(arguments.comm, &rank), "MPI_Comm_rank");
        shift_ = rank * to_nanoseconds(arguments.part.seconds("step"));
    }

    void run() override {
        const long earliest = now() + duration_;
        const long exit = (grid_ == 0 ? earliest : (earliest + grid_ - 1) / grid_ * grid_) + shift_;
        while (now() < exit) {
        }
    }

private:
    static long to_nanoseconds(double seconds) { return std::lround(seconds * 1e9); }

    /// Not the clock of the library, which is what this operation is to judge; and one for all ranks of a host.
    static long now() {
        timespec time{};
        if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) {
            throw Error::here(fmt::format("CLOCK_MONOTONIC cannot be read: {}", std::strerror(errno)));
        }
        return time.tv_sec * 1'000'000'000L + time.tv_nsec;
    }

    long duration_; // this and what follows in ns
    long grid_;
    long shift_ = 0;
};

} // namespace

OperationInfo operations::synthetic() {
    return unsized_operation(
        {"synthetic",
         "no communication: a rank leaves duration + rank * step after it entered, by CLOCK_MONOTONIC; to check what "
         "is "
         "measured of it",
         "",
         {{"duration", "20us", "in the operation, on rank 0", PartValues::duration(0.0, 1.0)},
          {"step", "5us", "longer for each rank than for the one before", PartValues::duration(0.0, 1.0)},
          {"grid", "0",
           "above 0, the end of duration is put off to the next multiple of this on the clock, the same on all ranks "
           "of "
           "a host",
           PartValues::duration(0.0, 1.0)}}},
        [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
            return std::make_unique<Synthetic>(arguments);
        });
}

} // namespace bench
