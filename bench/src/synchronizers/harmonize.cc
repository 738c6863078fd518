#include "mpi_check.h"
#include "synchronizer.h"

#include <mpix_harmonize.h>

namespace bench {
namespace {

constexpr const char *no_barrier = "none";

class Harmonize : public Synchronizer {
public:
    explicit Harmonize(const SynchronizerArguments &arguments) : comm_(arguments.comm.handle()) {
        const std::string &barrier = arguments.part.word("after");
        if (barrier != no_barrier) {
            const Part part = parse_part("synchronizer", barrier, all_barriers());
            barrier_ = find_by_name(all_barriers(), barrier)
                           .make({arguments.comm, arguments.clock, arguments.messages, arguments.barrier, part});
        }
    }

    bool start(double delay) override {
        if (barrier_) {
            barrier_->start(0.0);
        }
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
    std::unique_ptr<Synchronizer> barrier_; // where one runs before
};

} // namespace

SynchronizerInfo synchronizers::harmonize() {
    std::vector<std::string> choices = {no_barrier};
    for (const SynchronizerInfo &barrier : all_barriers()) {
        choices.push_back(barrier.name);
    }
    return {{"harmonize",
             "MPIX_Harmonize of libdownbeat: all ranks start at one deadline",
             "Schuchart 2023, Alg. 1",
             {{"after", no_barrier, "barrier that runs before it, to see that its pattern does no harm",
               PartValues::choice(choices)}}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<Harmonize>(arguments);
            },
            [](const Part &part) {
                const std::string &barrier = part.word("after");
                return barrier != no_barrier &&
                       find_by_name(all_barriers(), barrier)
                           .calls_mpi_barrier(parse_part("synchronizer", barrier, all_barriers()));
            }};
}

} // namespace bench
