#include "experiments/experiment_session.h"

#include "clocks/global_clock.h"
#include "context/warnings.h"
#include "experiments/gather_context.h"
#include "mpi/seed.h"

namespace bench {

ExperimentSession::ExperimentSession(const Communicator &comm, const CommonOptions &options, const std::string &command)
    : comm_(comm), seed_(choose_seed(comm, options.seed)) {
    comm.on_root([&] {
        outputs_.emplace(options);
        return 0;
    });
    const GlobalClock clock(comm, std::nullopt);
    context_ = gather_context(comm, clock, options, seed_, command);
    watch_ = ActivityWatch(); // from here on
}

ExitStatus ExperimentSession::finish(const std::function<Findings()> &find) {
    const std::vector<OthersActivity> others = watch_.finish(comm_);
    comm_.on_root([&] {
        const Findings findings = find();
        std::vector<std::string> warnings = find_machine_warnings(context_, others);
        warnings.insert(warnings.end(), findings.warnings.begin(), findings.warnings.end());
        outputs_->write(context_, findings.data, findings.table, warnings);
        return 0;
    });
    return ExitStatus::success;
}

} // namespace bench
