#include "launch/stamp_cost.h"

#include "mpi/mpi_check.h"
#include "operations/operation.h"
#include "statistics/statistics.h"
#include "synchronizers/synchronizer.h"
#include "timings/timing.h"

#include <vector>

namespace bench {
namespace {

constexpr int batches = 10; // a median is rid of interruptions, ...
constexpr int pairs = 50;   // ... and a mean of the clock's step

struct Unused : Synchronizer {
    bool start(double) override { return true; }
};

} // namespace

double measure_stamp_cost(const Communicator &comm, const GlobalClock &clock) {
    const OperationInfo nothing = operations::nothing();
    const auto operation = nothing.make({comm.handle(), 0, Component("operation", nothing.name, nothing)});
    const TimingInfo &per_call = find_by_name(all_timings(), "per_call");
    const auto timing = per_call.make(Component("timing scheme", per_call.name, per_call));
    Unused unused;
    const StampClock stamps = clock.stamps();
    std::vector<double> costs;
    for (int batch = 0; batch < batches; ++batch) {
        double sum = 0.0;
        for (int pair = 0; pair < pairs; ++pair) {
            const Stamps taken = timing->run(*operation, unused, stamps);
            sum += stamps.seconds(taken.exit) - stamps.seconds(taken.entry);
        }
        costs.push_back(sum / pairs);
    }
    const double cost = summarize(costs).median;
    double largest = 0.0;
    check(MPI_Reduce(&cost, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, comm.handle()), "MPI_Reduce");
    return largest;
}

} // namespace bench
