// Synchronizer `harmonize`: MPIX_Harmonize of libdownbeat, i.e. a common deadline on the global clock. The slack is the
// time from the agreement on the deadline to the deadline.
#include "mpi/communicator.h"
#include "mpi/global_clock.h"
#include "synchronizers/synchronizer.h"

#include <mpix_harmonize.h>

namespace bench {
namespace {

constexpr const char *no_barrier = "none";      // value of parameter "after"
constexpr const char *slack_of_run = "default"; // value of parameter "slack": that of DOWNBEAT_SLACK

/// Calls MPIX_Harmonize on the run's communicator, or on a duplicate with another slack and clocks of its own.
class Harmonize : public Synchronizer {
public:
    explicit Harmonize(const SynchronizerArguments &arguments) : comm_(arguments.comm.handle()) {
        const std::string &slack = arguments.component.word("slack");
        if (slack != slack_of_run) {
            slack_comm_ = arguments.harmonized.with_slack(slack);
            comm_ = slack_comm_->handle();
        }
        const std::string &barrier = arguments.component.word("after");
        if (barrier != no_barrier) {
            const Component component = parse_component("synchronizer", barrier, all_barriers());
            barrier_ = find_by_name(all_barriers(), barrier)
                           .make({arguments.comm, arguments.clock, arguments.messages, arguments.barrier,
                                  arguments.harmonized, component});
        }
    }

    // Other cells and the clock start on this communicator, too, so the count of unsure starts has changed.
    void prepare(const Series &) override { unsure_before_ = stats().unsure_clocks; }

    bool start(double delay) override {
        if (barrier_) {
            barrier_->start(0.0);
        }
        int flag = 0;
        check(MPIX_Harmonize_delayed(comm_, delay, &flag), "MPIX_Harmonize_delayed");
        if (flag == 0) { // reading the statistics takes some 10 ns, which matters less after a failed start
            const long long count = stats().unsure_clocks;
            unsure_ = count > unsure_before_;
            unsure_before_ = count;
        }
        return flag != 0;
    }

    bool synchronizes_clocks() const override { return true; }

    Start last_start() const override {
        Start start;
        check(MPIX_Harmonize_deadline(comm_, &start.deadline), "MPIX_Harmonize_deadline");
        if (slack_comm_) {
            start.deadline = slack_comm_->on_clock_of_run(start.deadline);
        }
        start.slack = stats().slack;
        return start;
    }

    bool unsure() const override { return unsure_; }

    ClockError clock_error() const override { return slack_comm_ ? slack_comm_->error() : ClockError{}; }

    std::string advice() const override {
        return "at most one rank per processor, an idle machine, DOWNBEAT_SLACK=auto, a larger --tolerance, --late or "
               "--late-ranks";
    }

private:
    /// The library's counts of starts on comm_.
    MPIX_Harmonize_stats stats() const {
        MPIX_Harmonize_stats counts;
        check(MPIX_Harmonize_get_stats(comm_, &counts), "MPIX_Harmonize_get_stats");
        return counts;
    }

    MPI_Comm comm_;                                    // on which MPIX_Harmonize starts the ranks
    std::shared_ptr<const HarmonizedComm> slack_comm_; // communicator for another slack than the run's; else null
    std::unique_ptr<Synchronizer> barrier_;            // barrier before each start; null for none
    long long unsure_before_ = 0;                      // the library's count of unsure starts on comm_
    bool unsure_ = false;                              // the last failed start was unsure
};

} // namespace

SynchronizerInfo synchronizers::harmonize() {
    std::vector<std::string> choices = {no_barrier};
    for (const SynchronizerInfo &barrier : all_barriers()) {
        choices.push_back(barrier.name);
    }
    std::vector<std::string> slacks = {slack_of_run};
    for (const std::string &slack : component_names("slack")) {
        slacks.push_back(slack);
    }
    return {{"harmonize",
             "MPIX_Harmonize of libdownbeat: all ranks start at a common deadline",
             "Schuchart 2023, Alg. 1",
             {{"after", no_barrier, "barrier to run before it, to show that the barrier's exit pattern has no effect",
               ComponentValues::choice(choices)},
              {"slack", slack_of_run,
               "method that chooses the slack, with clocks of its own; default: DOWNBEAT_SLACK, with the run's clocks",
               ComponentValues::choice(slacks)}}},
            Make<Harmonize>{},
            [](const Component &component) {
                const std::string &barrier = component.word("after");
                return barrier != no_barrier &&
                       find_by_name(all_barriers(), barrier)
                           .calls_mpi_barrier(parse_component("synchronizer", barrier, all_barriers()));
            }};
}

} // namespace bench
