#include "broadcast_lag.h"
#include "mpi_check.h"
#include "synchronizer.h"

#include <fmt/format.h>

namespace bench {
namespace {

class RoundTime : public Synchronizer {
public:
    explicit RoundTime(const SynchronizerArguments &arguments)
        : comm_(arguments.comm), clock_(arguments.clock), messages_(arguments.messages), barrier_(arguments.barrier),
          factor_(arguments.part.real("factor")),
          budget_(arguments.part.is_auto("budget") ? std::nullopt : std::optional(arguments.part.seconds("budget"))) {}

    void prepare(const Series &) override {
        if (!slack_) {
            slack_ = factor_ * measure_broadcast_lag(comm_, clock_, messages_);
        }
    }

    bool start(double delay) override {
        check(MPI_Barrier(barrier_), "MPI_Barrier");
        deadline_ = comm_.is_root() ? clock_.now() + *slack_ : 0.0;
        check(MPI_Bcast(&deadline_, 1, MPI_DOUBLE, 0, messages_), "MPI_Bcast");
        return clock_.wait_until(deadline_ + delay);
    }

    Start last_start() const override { return {.deadline = deadline_, .slack = *slack_}; }

    std::optional<double> budget() const override { return budget_; }

    std::string advice() const override {
        return fmt::format("a start later than {:.3g} us after it is decided, as roundtime(factor={:g}); no more ranks "
                           "than processors, an idle machine",
                           slack_.value_or(0.0) * 1e6, 10.0 * factor_);
    }

private:
    const Communicator &comm_;
    const GlobalClock &clock_;
    MPI_Comm messages_;
    MPI_Comm barrier_;
    double factor_;
    std::optional<double> budget_; // seconds
    std::optional<double> slack_;  // seconds from the decision to the deadline
    double deadline_ = 0.0;        // seconds on the global clock
};

} // namespace

SynchronizerInfo synchronizers::roundtime() {
    return {{"roundtime",
             "MPI_Barrier, then rank 0 broadcasts an instant for which all wait",
             "Hunold 2018 (Round-Time)",
             {{"budget", "auto", "time in which a cell gets as many samples as fit; auto: the stopping rule decides",
               PartValues::duration(1e-6, 1e6)},
              {"factor", "3", "mean broadcasts from the decision to the instant", PartValues::real(0, 1e6)}}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<RoundTime>(arguments);
            },
            [](const Part &) { return true; }};
}

} // namespace bench
