#include "computation.h"
#include "mpi_check.h"
#include "operation.h"
#include "unsteered_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bench {
namespace {

/// An operation that communicates nothing, so that what it takes is known: each rank stays for a time of its own.
class Synthetic : public Operation {
public:
    explicit Synthetic(const OperationArguments &arguments)
        : part_(arguments.part), duration_(to_nanoseconds(arguments.part.seconds("duration"))),
          grid_(to_nanoseconds(arguments.part.seconds("grid"))) {
        int rank = 0;
        check(MPI_Comm_rank(arguments.comm, &rank), "MPI_Comm_rank");
        shift_ = rank * to_nanoseconds(arguments.part.seconds("step"));
    }

    void choose_computation(double own_time) override {
        const Part &part = part_;
        computation_ = to_nanoseconds(part.is_auto("compute") ? own_time : part.seconds("compute"));
        hidden_ = std::lround(part.real("hidden") * static_cast<double>(std::min(duration_, computation_)));
    }
    double computation() const override { return static_cast<double>(computation_) * 1e-9; }
    double take_computed() override { return std::exchange(computed_, 0.0); }

    void run() override {
        const long earliest = now() + duration_ + computation_ - hidden_;
        const long exit = (grid_ == 0 ? earliest : (earliest + grid_ - 1) / grid_ * grid_) + shift_;
        while (now() < exit) {
        }
        computed_ += computation();
    }

private:
    static long to_nanoseconds(double seconds) { return std::lround(seconds * 1e9); }

    /// Not the clock of the library, which is what this operation is to judge.
    static long now() { return unsteered_nanoseconds(); }

    Part part_;
    long duration_; // this and what follows in ns
    long grid_;
    long shift_ = 0;
    long computation_ = 0;
    long hidden_ = 0;
    double computed_ = 0.0; // seconds
};

} // namespace

OperationInfo operations::synthetic() {
    OperationInfo info = unsized_operation(
        {"synthetic",
         "no communication: a rank leaves duration + rank * step after it entered, by CLOCK_MONOTONIC_RAW; to check "
         "what is measured of it",
         "",
         {{"duration", "20us", "in the operation, on rank 0", PartValues::duration(0.0, 1.0)},
          {"step", "5us", "longer for each rank than for the one before", PartValues::duration(0.0, 1.0)},
          {"grid", "0",
           "above 0, the end of duration is put off to the next multiple of this on the clock, the same on all ranks "
           "of "
           "a host",
           PartValues::duration(0.0, 1.0)},
          {"compute", "0", "as if it computed for so long; auto: as long as it takes without",
           PartValues::duration(0.0, 1.0).or_word("auto")},
          {"hidden", "1", "share of the shorter of duration and computation that the longer one hides",
           PartValues::real(0.0, 1.0)}}},
        [](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
            return std::make_unique<Synthetic>(arguments);
        });
    info.computes = true;
    return info;
}

} // namespace bench
