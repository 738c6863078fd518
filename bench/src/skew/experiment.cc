#include "experiment.h"

#include "arrival_pattern.h"
#include "command_line.h"
#include "experiment_session.h"
#include "judge_run.h"
#include "launch.h"
#include "measure_agreement.h"
#include "names.h"
#include "operation.h"
#include "parse_number.h"
#include "reporter_registry.h"
#include "skew/recorder.h"
#include "skew/results.h"
#include "stopping_rule.h"
#include "synchronizer.h"
#include "timing.h"
#include "warmup_rule.h"

#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

/// What leaving a synchronizer shows is its exit skew, whatever follows; so nothing follows.
Options launch_options(const std::vector<Part> &synchronizers, const SkewOptions &skew, const CommonOptions &common) {
    Options options;
    static_cast<CommonOptions &>(options) = common;
    const OperationInfo &nothing = find_by_name(all_operations(), "nothing");
    options.operations = {{Part("operation", nothing.name, nothing), nothing}};
    const Part timing = parse_part("timing scheme", "per_call", all_timings());
    for (const Part &synchronizer : synchronizers) {
        options.timings.push_back({synchronizer, timing});
    }
    options.patterns = {parse_part("arrival pattern", no_pattern, all_patterns())};
    options.stopping =
        parse_part("stopping rule", fmt::format("fixed(samples={})", skew.repetitions), all_stopping_rules());
    options.warmup = parse_part("warm-up rule", fmt::format("fixed(calls={})", skew.warmup), all_warmup_rules());
    options.max_attempts = skew.max_attempts;
    return options;
}

class SkewExperiment : public Experiment {
public:
    SkewExperiment(std::vector<Part> synchronizers, const SkewOptions &options, CommonOptions common)
        : synchronizers_(std::move(synchronizers)), options_(options), common_(std::move(common)) {}

    ExitStatus run(const Communicator &comm, const std::string &command) override {
        ExperimentSession session(comm, common_, command);
        const GlobalClock clock(comm, std::nullopt);
        const Options options = launch_options(synchronizers_, options_, common_);
        Launch launch(comm, clock, options, session.seed());
        std::vector<SkewRecording> recordings(synchronizers_.size());
        Reporters reporters;
        if (comm.is_root()) {
            reporters.push_back(std::make_unique<SkewRecorder>(recordings));
        }
        const std::vector<CellResult> results = launch.run(reporters);
        const ClockAgreement agreement = judge_clocks(measure_agreement(comm));
        session.finish([&]() -> Findings {
            std::vector<Skew> skews;
            for (std::size_t i = 0; i < results.size(); ++i) {
                skews.push_back(
                    study_skew(std::move(recordings[i]), results[i], static_cast<std::size_t>(comm.size())));
            }
            return {skew_dataset(session.context(), options_, skews), skew_table(session.context(), skews, agreement),
                    find_skew_warnings(skews, agreement)};
        });
        return static_cast<ExitStatus>(comm.on_root([&] { return static_cast<long>(judge_run(results)); }));
    }

private:
    std::vector<Part> synchronizers_;
    SkewOptions options_;
    CommonOptions common_;
};

std::string all_but_none() {
    std::vector<std::string> names = names_of(all_synchronizers());
    std::erase(names, "none");
    return join(names, ",");
}

ParsedExperiment parse(int argc, char **argv, int) {
    CommandLine line("Shows how far apart, and in which order, processes leave each synchronizer. Run under mpirun, "
                     "mpiexec or srun.",
                     "downbeat-bench skew");
    std::string synchronizers = all_but_none();
    std::string repetitions;
    std::string max_attempts;
    std::string warmup;
    CommonWords words;
    line.option("--sync", synchronizers, "NAMES", "synchronizers, a list [default: all but none]");
    line.option("-r,--repetitions", repetitions, "N", "valid samples behind each synchronizer [default 1000]");
    line.option("--max-attempts", max_attempts, "N",
                "give a block of samples up after so many attempts per valid one wanted [default 20]");
    line.option("--warmup", warmup, "N", "calls before each block of samples, which do not count [default 10]");
    words.declare(line, "of the random order of the blocks");
    line.footer(fmt::format("\nSynchronizers:\n{}", describe_entries(all_synchronizers())));
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    SkewOptions options;
    const std::vector<Part> parts = parse_parts("synchronizer", synchronizers, all_synchronizers());
    if (line.given("--repetitions")) {
        options.repetitions = parse_number("--repetitions", repetitions, 1L, 1'000'000L);
    }
    if (line.given("--max-attempts")) {
        options.max_attempts = parse_number("--max-attempts", max_attempts, 1L, 1'000'000L);
    }
    if (line.given("--warmup")) {
        options.warmup = parse_number("--warmup", warmup, 0L, 1'000'000L);
    }
    CommonOptions common;
    words.check(line, common, find_dataset_writer, experiment_formats());
    return std::make_unique<SkewExperiment>(parts, options, common);
}

} // namespace

ExperimentInfo experiments::skew() {
    return {"skew", "how processes leave each synchronizer: exit skew, and when each rank leaves", parse};
}

} // namespace bench
