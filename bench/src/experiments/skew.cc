// `downbeat-bench skew`: measures when each rank leaves a synchronizer. It runs a launch (run/launch.h) with operation
// `nothing`, so a rank enters the operation when it leaves the synchronizer.
#include "experiments/subcommand.h"

#include "experiments/skew_results.h"
#include "mpi/offsets.h"
#include "operations/operation.h"
#include "output/table.h"
#include "rules/arrival_pattern.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "run/command_line.h"
#include "run/launch.h"
#include "synchronizers/synchronizer.h"
#include "text/words.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

namespace bench {
namespace {

/// Stores all samples of each cell except warm-up. Rank 0 only.
class SkewRecorder : public LaunchListener {
public:
    explicit SkewRecorder(std::vector<SkewRecording> &recordings) : recordings_(recordings) {}

    void samples(const BatchReport &report) override {
        SkewRecording &recording = recordings_[report.cell];
        for (std::size_t i = 0; i < report.batch.size(); ++i) {
            if (report.verdicts[i] == Verdict::warmup) {
                continue;
            }
            const Sample sample = report.batch[i];
            recording.block.push_back(report.block);
            recording.verdict.push_back(report.verdicts[i]);
            recording.deadline.push_back(sample.deadline);
            recording.entry.insert(recording.entry.end(), sample.sync_entry.begin(), sample.sync_entry.end());
            // A rank enters the operation when it leaves the synchronizer.
            recording.exit.insert(recording.exit.end(), sample.entry.begin(), sample.entry.end());
            if (!report.batch.true_entry.empty()) {
                const auto first =
                    report.batch.true_entry.begin() + static_cast<std::ptrdiff_t>(i * sample.entry.size());
                recording.true_exit.insert(recording.true_exit.end(), first,
                                           first + static_cast<std::ptrdiff_t>(sample.entry.size()));
            }
        }
    }

private:
    std::vector<SkewRecording> &recordings_; // [cell]
};

/// The options of the launch: operation `nothing` after each synchronizer.
Options launch_options(const std::vector<Component> &synchronizers, const SkewOptions &skew,
                       const CommonOptions &common) {
    Options options;
    static_cast<CommonOptions &>(options) = common;
    const OperationInfo &nothing = find_by_name(all_operations(), "nothing");
    options.operations = {{Component("operation", nothing.name, nothing), nothing}};
    const Component timing = parse_component("timing scheme", "per_call", all_timings());
    for (const Component &synchronizer : synchronizers) {
        options.timings.push_back({synchronizer, timing});
    }
    options.patterns = {parse_component("arrival pattern", no_pattern, all_patterns())};
    options.stopping =
        parse_component("stopping rule", fmt::format("fixed(samples={})", skew.repetitions), all_stopping_rules());
    options.warmup = parse_component("warm-up rule", fmt::format("fixed(calls={})", skew.warmup), all_warmup_rules());
    options.max_attempts = skew.max_attempts;
    return options;
}

ExitStatus run(const Communicator &comm, const std::string &command, const std::vector<Component> &synchronizers,
               const SkewOptions &skew, const CommonOptions &common) {
    Session session(comm, common, command);
    const std::optional<double> library_tolerance; // empty: the library's setting
    const GlobalClock clock(comm, library_tolerance);
    const Options options = launch_options(synchronizers, skew, common);
    Launch launch(comm, clock, options, session.seed());
    launch.prepare();
    std::vector<SkewRecording> recordings(synchronizers.size());
    SkewRecorder recorder(recordings); // the launch calls it on rank 0 only
    const std::vector<CellResult> results = launch.run({&recorder});
    const ClockAgreement agreement = judge_clocks(measure_agreement(comm, clock));
    // finish() returns success or throws; the status of this subcommand is that of the cells.
    session.finish([&]() -> Findings {
        std::vector<Skew> skews;
        for (std::size_t i = 0; i < results.size(); ++i) {
            skews.push_back(study_skew(std::move(recordings[i]), results[i], static_cast<std::size_t>(comm.size())));
        }
        return {.data = skew_dataset(session.context(), skew, skews),
                .head = clock_lines(session.context(), agreement),
                .warnings = find_skew_warnings(skews, agreement)};
    });
    return static_cast<ExitStatus>(comm.on_root([&] { return static_cast<long>(judge_run(results)); }));
}

/// All synchronizers except "none".
std::vector<Component> all_but_none() {
    std::vector<std::string> names = names_of(all_synchronizers());
    std::erase(names, "none");
    return parse_components("synchronizer", join(names, ","), all_synchronizers());
}

ParsedWork parse(int argc, char **argv, int) {
    CommandLine line("Shows how far apart, and in which order, processes leave each synchronizer. Run under mpirun, "
                     "mpiexec or srun.",
                     "downbeat-bench skew");
    SkewOptions options;
    CommonOptions common;
    std::vector<Component> components = all_but_none();
    line.option(
        "--sync", "NAMES",
        [&](const std::string &word) { components = parse_components("synchronizer", word, all_synchronizers()); },
        "synchronizers, a list [default: all but none]");
    line.number("-r,--repetitions", "N", options.repetitions, 1L, 1'000'000L, "valid samples after each synchronizer");
    line.number("--max-attempts", "N", options.max_attempts, 1L, 1'000'000L,
                "give up on a block after N attempts per valid sample requested");
    line.number("--warmup", "N", options.warmup, 0L, 1'000'000L, "calls to discard before each block of samples");
    common.declare(line, "seed for the order of the blocks");
    line.footer(fmt::format("Synchronizers:\n{}", describe_entries(all_synchronizers())));
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    common.check();
    return [chosen = components, options, common](const Communicator &comm, const std::string &command) {
        return run(comm, command, chosen, options, common);
    };
}

} // namespace

SubcommandInfo subcommands::skew() {
    return {{"skew", "how processes leave each synchronizer: exit skew, and when each rank leaves"}, parse};
}

} // namespace bench
