#pragma once

#include <limits>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// What is known of a start afterwards, in seconds; NaN where the synchronizer has no such thing.
struct Start {
    double deadline = std::numeric_limits<double>::quiet_NaN(); // on the global clock
    double slack = std::numeric_limits<double>::quiet_NaN();
};

/// A way to let all ranks start together.
class Synchronizer {
public:
    virtual ~Synchronizer() = default;

    /// Collective. Returns when this rank is to start; false if it knows that it starts late.
    virtual bool start() = 0;

    /// Local. About the last start; called after the operation, so that asking costs no time before it.
    virtual Start last_start() const = 0;
};

struct SynchronizerInfo {
    std::string name;
    std::string description;
    std::unique_ptr<Synchronizer> (*make)(MPI_Comm comm);
};

// One line per synchronizer; synchronizers/<name>.cc defines the function of that name.
#define BENCH_SYNCHRONIZERS(SYNCHRONIZER)                                                                              \
    SYNCHRONIZER(mpi_barrier)                                                                                          \
    SYNCHRONIZER(harmonize)

namespace synchronizers {
#define BENCH_DECLARE(name) SynchronizerInfo name();
BENCH_SYNCHRONIZERS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace synchronizers

const std::vector<SynchronizerInfo> &all_synchronizers();

} // namespace bench
