#include "measure_operations.h"

#include "activity.h"
#include "clock_agreement.h"
#include "gather_context.h"
#include "judge_run.h"
#include "launch.h"
#include "measure_agreement.h"
#include "names.h"
#include "options.h"
#include "print_error.h"
#include "reporter_registry.h"
#include "seed.h"
#include "warnings.h"

#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

Reporters open_reporters(const Options &options) {
    Reporters reporters;
    for (const std::string &path : options.outputs) {
        reporters.push_back(find_reporter(path).make(path));
    }
    // Last, so that what it says of the files is true when it says it.
    reporters.push_back(find_by_name(all_reporters(), options.format).make(standard_output));
    return reporters;
}

ExitStatus measure(const Communicator &comm, const Options &options, const std::string &command) {
    const std::uint64_t seed = choose_seed(comm, options.seed);
    const GlobalClock clock(comm, options.tolerance);
    Launch launch(comm, clock, options, seed);
    SamplingContext context;
    static_cast<Context &>(context) = gather_context(comm, clock, options, seed, command);
    context.stopping = options.stopping.full_text();
    context.warmup = options.warmup.full_text();
    context.max_attempts = options.max_attempts;
    context.observed = options.observed;
    context.permuted = options.permute;
    context.tolerance = clock.tolerance();
    context.algorithms = launch.algorithms();
    context.trace_samples = options.trace_samples;
    for (const auto &[part, info] : options.operations) {
        if (!info.file.empty()) {
            context.user_operations.push_back(fmt::format("{}: {}", part.text(), info.file));
        }
    }
    Reporters reporters;
    comm.on_root([&] {
        reporters = open_reporters(options);
        for (const auto &reporter : reporters) {
            reporter->begin(context, launch.cells());
        }
        return 0;
    });

    const ActivityWatch watch;
    const std::vector<CellResult> results = launch.run(reporters);
    const ClockAgreement agreement = judge_clocks(measure_agreement(comm));
    const std::vector<OthersActivity> others = watch.finish(comm);

    return static_cast<ExitStatus>(comm.on_root([&] {
        const std::vector<std::string> warnings = find_warnings(context, results, others, agreement);
        for (const auto &reporter : reporters) {
            reporter->end({agreement, warnings});
        }
        if (!find_by_name(all_reporters(), options.format).shows_warnings) {
            for (const std::string &warning : warnings) {
                print_error(fmt::format("warning: {}", warning));
            }
        }
        return static_cast<long>(judge_run(results));
    }));
}

class MeasureOperations : public Experiment {
public:
    explicit MeasureOperations(Options options) : options_(std::move(options)) {}
    ExitStatus run(const Communicator &comm, const std::string &command) override {
        return measure(comm, options_, command);
    }

private:
    Options options_;
};

} // namespace

ParsedExperiment parse_operations(int argc, char **argv, int ranks) {
    auto parsed = parse_options(argc, argv, ranks);
    if (const std::string *text = std::get_if<std::string>(&parsed)) {
        return *text;
    }
    return std::make_unique<MeasureOperations>(std::get<Options>(std::move(parsed)));
}

} // namespace bench
