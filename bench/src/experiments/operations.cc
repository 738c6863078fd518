// downbeat-bench without a subcommand: measures operations after synchronizers.
#include "experiments/subcommand.h"

#include "mpi/communicator.h"
#include "mpi/offsets.h"
#include "output/context.h"
#include "output/sink.h"
#include "run/launch.h"
#include "run/options.h"
#include "run/sampler.h"
#include "text/words.h"

#include <cstdlib>
#include <fmt/format.h>
#include <optional>

namespace bench {
namespace {

/// Collective. Prepares a launch, runs it, and writes its results during and after the run.
ExitStatus measure(const Communicator &comm, const Options &options, const std::string &command) {
    const std::uint64_t seed = choose_seed(comm, options.seed);
    // Before the first clock: the library reads its settings from the environment then.
    if (!options.published.empty() && setenv("DOWNBEAT_PUBLISHED", options.published.c_str(), 1) != 0) {
        throw Error::here("setenv of DOWNBEAT_PUBLISHED failed");
    }
    const GlobalClock clock(comm, options.tolerance);
    Launch launch(comm, clock, options, seed);
    launch.prepare();
    SamplingContext context;
    static_cast<Context &>(context) = gather_context(comm, clock, options, seed, command);
    context.stopping = options.stopping.full_text();
    context.warmup = options.warmup.full_text();
    context.settings = values_of(setting_attributes(), static_cast<const SamplingSettings &>(options));
    context.tolerance = clock.tolerance();
    context.stamp_cost = measure_stamp_cost(comm, clock);
    context.starts = options.start_limits(clock.tolerance());
    context.algorithms = launch.algorithms();
    for (const auto &[component, info] : options.operations) {
        if (!info.file.empty()) {
            context.user_operations.push_back(printable(fmt::format("{}: {}", component.text(), info.file)));
        }
    }
    std::optional<LaunchWriter> writer; // empty except on rank 0
    comm.on_root([&] {
        writer.emplace(open_sinks(options.outputs, options.format), context, launch.cells());
        return 0;
    });

    const ActivityWatch watch;
    const std::vector<CellResult> results = launch.run(writer ? LaunchListeners{&*writer} : LaunchListeners{});
    const ClockAgreement agreement = judge_clocks(measure_agreement(comm, clock));
    const std::vector<OthersActivity> activity = watch.finish(comm);

    return static_cast<ExitStatus>(comm.on_root([&] {
        RunEnd end{agreement, find_warnings(context, results, activity, agreement), ""};
        const Format &format = find_by_name(all_formats(), options.format);
        if (format.text != nullptr) {
            end.text = format.text(context, results, end);
        }
        writer->end(end);
        print_warnings(options.format, end.warnings);
        return static_cast<long>(judge_run(results));
    }));
}

} // namespace

ParsedWork parse_measurement(int argc, char **argv, int ranks) {
    const auto parsed = parse_options(argc, argv, ranks, {all_subcommands().begin(), all_subcommands().end()});
    if (const std::string *text = std::get_if<std::string>(&parsed)) {
        return *text;
    }
    return [options = std::get<Options>(parsed)](const Communicator &comm, const std::string &command) {
        return measure(comm, options, command);
    };
}

} // namespace bench
