// Synchronizer `roundtime`: after a barrier, rank 0 broadcasts a start time in the near future, and all ranks wait for
// it.
#include "mpi/communicator.h"
#include "synchronizers/synchronizer.h"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr double default_factor = 3.0; // slack, in mean times of a broadcast

/// The slack, i.e. the time from rank 0's decision to the start, is a multiple of the time of a broadcast, or a fixed
/// "lead". With a fixed lead there is no barrier, so the lead must be long enough for the last rank to arrive; a rank
/// that arrives later returns false.
class RoundTime : public Synchronizer {
public:
    explicit RoundTime(const SynchronizerArguments &arguments)
        : comm_(arguments.comm), clock_(arguments.clock), messages_(arguments.messages), barrier_(arguments.barrier),
          factor_(arguments.component.real("factor")), has_lead_(!arguments.component.is_auto("lead")),
          budget_(arguments.component.is_auto("budget") ? std::nullopt
                                                        : std::optional(arguments.component.seconds("budget"))) {
        if (!has_lead_) {
            return;
        }
        if (factor_ != default_factor) {
            throw Error::usage(fmt::format(
                "synchronizer cannot be '{}': factor and lead both set the start time; give only one of them",
                arguments.component.text()));
        }
        slack_ = arguments.component.seconds("lead");
    }

    void prepare(const Series &) override {
        if (!slack_) {
            slack_ = factor_ * measure_broadcast_lag(comm_, clock_, messages_);
        }
    }

    bool start(double delay) override {
        if (!has_lead_) {
            check(MPI_Barrier(barrier_), "MPI_Barrier");
        }
        deadline_ = comm_.is_root() ? clock_.now() + *slack_ : 0.0;
        check(MPI_Bcast(&deadline_, 1, MPI_DOUBLE, 0, messages_), "MPI_Bcast");
        return clock_.wait_until(deadline_ + delay);
    }

    Start last_start() const override { return {.deadline = deadline_, .slack = *slack_}; }

    std::optional<double> budget() const override { return budget_; }

    std::string advice() const override {
        const std::string longer = has_lead_ ? fmt::format("lead={:.0f}us", *slack_ * 1e7) // 10 times as long
                                             : fmt::format("factor={:g}", 10.0 * factor_);
        return fmt::format("a start more than {:.3g} us after the decision, e.g. roundtime({}); at most one rank per "
                           "processor, an idle machine",
                           slack_.value_or(0.0) * 1e6, longer);
    }

private:
    const Communicator &comm_;
    const GlobalClock &clock_;
    MPI_Comm messages_;            // for the broadcasts
    MPI_Comm barrier_;             // for MPI_Barrier
    double factor_;                // of the slack, in mean times of a broadcast
    bool has_lead_;                // true: the slack is a fixed lead, and no barrier runs before
    std::optional<double> budget_; // time per cell, s; empty: the stopping rule decides
    std::optional<double> slack_;  // s; empty until it is measured
    double deadline_ = 0.0;        // s on the global clock
};

} // namespace

SynchronizerInfo synchronizers::roundtime() {
    return {{"roundtime",
             "MPI_Barrier, then rank 0 broadcasts a start time and all ranks wait for it",
             "Hunold 2018 (Round-Time); with lead: Niethammer 2016, listing 2",
             {{"budget", "auto", "time per cell, for as many samples as fit; auto: the stopping rule decides",
               ComponentValues::duration(1e-6, 1e6)},
              {"factor", fmt::format("{:g}", default_factor), "time from the decision to the start, in mean broadcasts",
               ComponentValues::real(0, 1e6)},
              {"lead", "auto",
               "time from the decision to the start, e.g. 10ms, without MPI_Barrier before; auto: from factor",
               ComponentValues::duration(1e-6, 1e3)}}},
            Make<RoundTime>{},
            [](const Component &component) { return component.is_auto("lead"); }};
}

} // namespace bench
