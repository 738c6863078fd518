#include "mpi_check.h"
#include "synchronizer.h"

#include <mpix_harmonize.h>

namespace bench {
namespace {

class Harmonize : public Synchronizer {
public:
    explicit Harmonize(MPI_Comm comm) : comm_(comm) {}

    bool start() override {
        int flag = 0;
        check(MPIX_Harmonize(comm_, &flag), "MPIX_Harmonize");
        return flag != 0;
    }

    Start last_start() const override {
        Start start;
        check(MPIX_Harmonize_deadline(comm_, &start.deadline), "MPIX_Harmonize_deadline");
        MPIX_Harmonize_stats stats;
        check(MPIX_Harmonize_get_stats(comm_, &stats), "MPIX_Harmonize_get_stats");
        start.slack = stats.slack;
        return start;
    }

private:
    MPI_Comm comm_;
};

} // namespace

SynchronizerInfo synchronizers::harmonize() {
    return {"harmonize", "MPIX_Harmonize of libdownbeat: all ranks start at one deadline",
            [](MPI_Comm comm) -> std::unique_ptr<Synchronizer> { return std::make_unique<Harmonize>(comm); }};
}

} // namespace bench
