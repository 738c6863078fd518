#include "launch/sampler.h"

#include "mpi/mpi_check.h"
#include "text/names.h"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

namespace bench {
namespace {

/// Synchronizes the clocks at every start, as MPIX_Harmonize does at some.
class Synchronizing : public Synchronizer {
public:
    explicit Synchronizing(const Communicator &comm) : comm_(comm) {}
    bool start(double) override {
        check(MPIX_Harmonize_sync(comm_.handle()), "MPIX_Harmonize_sync");
        return true;
    }

private:
    const Communicator &comm_;
};

// An error bound grows until the next synchronization, so that one read later covers what was stamped before it.
TEST(Sampler, TheErrorBoundIsThatOfAllStamps) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    const Component component = parse_component("timing scheme", "per_call", all_timings());
    const auto timing = find_by_name(all_timings(), "per_call").make(component);
    const OperationInfo nothing = operations::nothing();
    const Component nothing_component("operation", nothing.name, nothing);
    const auto operation = nothing.make({comm.handle(), 0, nothing_component});
    Synchronizing synchronizer(comm);
    Sampler sampler(comm, clock, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // 50 us of drift
    const ClockError before = clock.largest(clock.error());
    const Batch batch = sampler.sample(synchronizer, *operation, *timing, {0.0}, 1e-6);
    if (comm.is_root()) {
        EXPECT_GE(batch.error_bound, before.bound); // the start made it small again
        EXPECT_GE(batch.expected_error, before.expected);
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    // Clocks that may drift by 1e-3 and are never synchronized unasked.
    for (const auto &[name, value] : {std::pair("DOWNBEAT_SHARE", "never"), std::pair("DOWNBEAT_MAX_SKEW", "1e-3"),
                                      std::pair("DOWNBEAT_MAX_ERROR", "1e3"), std::pair("DOWNBEAT_MAX_AGE", "1e5")}) {
        setenv(name, value, 1);
    }
    testing::InitGoogleTest(&argc, argv);
    MPI_Init(&argc, &argv);
    const int status = RUN_ALL_TESTS();
    MPI_Finalize();
    return status;
}
