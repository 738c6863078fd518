// Operation `synthetic`: no communication; each rank stays for a known time. It tests the benchmark itself.
#include "mpi/communicator.h"
#include "mpi/steady_time.h"
#include "operations/operation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace bench {
namespace {

/// Every rank stays for duration + rank * step, plus pretended computation with a hidden share.
class Synthetic : public Operation {
public:
    explicit Synthetic(const OperationArguments &arguments)
        : component_(arguments.component), duration_(to_nanoseconds(arguments.component.seconds("duration"))),
          grid_(to_nanoseconds(arguments.component.seconds("grid"))) {
        int rank = 0;
        check(MPI_Comm_rank(arguments.comm, &rank), "MPI_Comm_rank");
        shift_ = rank * to_nanoseconds(arguments.component.seconds("step"));
    }

    void choose_computation(double operation_time) override {
        const Component &component = component_;
        computation_ = to_nanoseconds(component.is_auto("compute") ? operation_time : component.seconds("compute"));
        hidden_ = std::lround(component.real("hidden") * static_cast<double>(std::min(duration_, computation_)));
    }
    double computation() const override { return static_cast<double>(computation_) * 1e-9; }
    double take_computed() override { return std::exchange(computed_, 0.0); }

    void run() override {
        const long earliest = now() + duration_ + computation_ - hidden_;
        const long exit = (grid_ == 0 ? earliest : (earliest + grid_ - 1) / grid_ * grid_) + shift_;
        work_until(exit, [] {});
        computed_ += computation();
    }

private:
    static long to_nanoseconds(double seconds) { return std::lround(seconds * 1e9); }

    /// Does not use the clock of the library, because this operation tests that clock.
    static long now() { return unsteered_nanoseconds(); }

    Component component_;
    long duration_;         // parameter, ns
    long grid_;             // parameter, ns
    long shift_ = 0;        // rank * step, ns
    long computation_ = 0;  // ns
    long hidden_ = 0;       // time in which operation and computation overlap, ns
    double computed_ = 0.0; // computation since the last take_computed(), s
};

} // namespace

OperationInfo operations::synthetic() {
    OperationInfo info = unsized_operation(
        {"synthetic",
         "no communication: each rank leaves duration + rank * step after it entered, by CLOCK_MONOTONIC_RAW; for "
         "checking measurements against a known truth",
         "",
         {{"duration", "20us", "time in the operation on rank 0", ComponentValues::duration(0.0, 1.0)},
          {"step", "5us", "extra time of each rank over the one before", ComponentValues::duration(0.0, 1.0)},
          {"grid", "0",
           "if above 0, duration ends at the next multiple of this on the clock, the same on all ranks of a host",
           ComponentValues::duration(0.0, 1.0)},
          {"compute", "0", "computation to pretend between call and wait; auto: as long as the operation takes alone",
           ComponentValues::duration(0.0, 1.0).or_word("auto")},
          {"hidden", "1", "hidden share of the shorter of duration and computation", ComponentValues::real(0.0, 1.0)}}},
        Make<Synthetic>{});
    info.computes = true;
    return info;
}

} // namespace bench
