#include "mpi_check.h"
#include "synchronizer.h"

#include <mpix_harmonize.h>

namespace bench {
namespace {

class Harmonize : public Synchronizer {
public:
    explicit Harmonize(const SynchronizerArguments &arguments) : comm_(arguments.comm.handle()) {}

    bool start(double delay) override {
        int flag = 0;
        check(MPIX_Harmonize_delayed(comm_, delay, &flag), "MPIX_Harmonize_delayed");
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

    std::string advice() const override {
        return "no more ranks than processors, an idle machine, DOWNBEAT_SLACK=auto, a larger --tolerance";
    }

private:
    MPI_Comm comm_;
};

} // namespace

SynchronizerInfo synchronizers::harmonize() {
    return {
        {"harmonize", "MPIX_Harmonize of libdownbeat: all ranks start at one deadline", "Schuchart 2023, Alg. 1", {}},
        [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
            return std::make_unique<Harmonize>(arguments);
        }};
}

} // namespace bench
