#include "subcommands/clock/results.h"

namespace bench {
namespace {

void add_measurements(Dataset &data, const ClockResults &results) {
    std::vector<const ClockRun *> runs;
    std::vector<const ClockEvent *> events;
    for (const std::vector<ClockRun> &of_scheme : results.runs) {
        for (const ClockRun &run : of_scheme) {
            runs.push_back(&run);
            for (const ClockEvent &event : run.events) {
                events.push_back(&event);
            }
        }
    }
    const std::vector<std::string> run = {"scheme", "repetition"};
    const std::vector<std::string> event = {"scheme", "repetition", "wait"};
    const std::vector<std::string> rank = {"scheme", "repetition", "wait", "rank"};
    data.add("position", run, "position of the scheme in the random order of the repetition", "",
             collect(runs, &ClockRun::position));
    data.add("duration", run, "duration of the synchronization, largest over ranks", "s",
             collect(runs, &ClockRun::duration));
    data.add("messages", run, "messages sent or received in the synchronization, largest over ranks", "",
             collect(runs, &ClockRun::messages));
    data.add("barrier", {"repetition"}, "mean duration of MPI_Barrier", "s", results.barrier);
    data.add("achieved_wait", event, "time from the end of the synchronization to the start of the measurements", "s",
             collect(events, &ClockEvent::achieved_wait));
    data.add("measured_at", rank, "time from the end of the synchronization to the end of the rank's measurement", "s",
             collect(events, &ClockEvent::measured_at));
    data.add("offset", rank, "measured offset of the rank's global clock to rank 0's, smallest of the rounds", "s",
             collect(events, &ClockEvent::offset));
    data.add("offset_bound", rank, "bound of the error of offset", "s", collect(events, &ClockEvent::offset_bound));
    data.add("error_bound", rank, "bound that the library reports for the rank's global clock", "s",
             collect(events, &ClockEvent::error_bound));
    data.add("expected_error", rank,
             "error of the rank's global clock that the library expects, one standard deviation", "s",
             collect(events, &ClockEvent::expected_error));
    if (results.truth) {
        data.add("true_error", rank, "true error of the rank's global clock", "s",
                 collect(events, &ClockEvent::true_error));
    }
}

void add_summaries(Dataset &data, const ClockResults &results, const ClockSummary &summary) {
    const std::vector<SchemeSummary> &schemes = summary.schemes;
    const std::vector<std::string> wait = {"scheme", "wait"};
    const auto after = [&](double WaitSummary::*member) {
        return collect(schemes, [member](const SchemeSummary &scheme) { return collect(scheme.waits, member); });
    };
    const auto after_first = [&](double WaitSummary::*member) {
        return collect(schemes, [member](const SchemeSummary &scheme) { return collect(scheme.first_waits, member); });
    };
    data.add("duration_median", {"scheme"}, "median of duration over repetitions", "s",
             collect(schemes, &SchemeSummary::duration));
    data.add("messages_median", {"scheme"}, "median of messages over repetitions", "",
             collect(schemes, &SchemeSummary::messages));
    data.add("on_front", {"scheme"},
             "1 if no other scheme is better in both duration and error at the wait of attribute front_wait_s", "",
             collect(schemes, &SchemeSummary::on_front));
    data.add("first_duration", {"scheme"},
             "duration of the first synchronization, with its connections, largest over ranks", "s",
             collect(schemes, &SchemeSummary::first_duration));
    data.add("first_offset_max", wait, "largest absolute offset over ranks after the first synchronization", "s",
             after_first(&WaitSummary::offset));
    data.add("offset_max", wait, "largest absolute offset over ranks, median over repetitions", "s",
             after(&WaitSummary::offset));
    data.add("bound_max", wait, "largest error_bound over ranks and repetitions", "s", after(&WaitSummary::bound));
    if (results.truth) {
        data.add("first_true_max", wait, "largest absolute true_error over ranks after the first synchronization", "s",
                 after_first(&WaitSummary::error));
        data.add("true_median", wait, "median of true_error over repetitions and ranks other than 0", "s",
                 after(&WaitSummary::bias));
        data.add("true_max", wait, "largest absolute true_error over ranks, median over repetitions", "s",
                 after(&WaitSummary::error));
        data.add("outside", wait,
                 "share of repetitions and ranks other than 0 whose true error exceeds its error_bound", "1",
                 after(&WaitSummary::outside));
    }
}

} // namespace

Dataset clock_dataset(const Context &context, const ClockResults &results, const ClockSummary &summary) {
    const ClockOptions &options = results.options;
    const auto repetitions = static_cast<std::size_t>(options.repetitions);
    std::vector<std::int64_t> checked(context.ranks.size(), 0);
    for (const int rank : options.checked) {
        checked[static_cast<std::size_t>(rank)] = 1;
    }
    Dataset data;
    data.title = "Quality of clock synchronization schemes, measured by downbeat-bench clock";
    data.attributes = {{"experiment", std::string("clock")},
                       {"rounds", options.rounds},
                       {"repetitions", options.repetitions},
                       {"estimator", options.estimator},
                       {"clock_domains", static_cast<long>(results.clock_domains)},
                       {"barrier_mean_s", summary.barrier},
                       {"front_wait_s", options.waits[summary.deciding]}};
    data.dimensions = {{"scheme", options.schemes.size()}, {"repetition", repetitions}, {"wait", options.waits.size()}};
    data.add("scheme", {"scheme"}, "synchronization scheme, as setting sync takes it", "", options.schemes);
    data.add("repetition", {"repetition"}, "repetitions in order", "", count_up(repetitions));
    data.add("wait", {"wait"}, "requested time from the end of the synchronization to the check", "s", options.waits);
    add_measurements(data, results);
    add_summaries(data, results, summary);
    add_ranks(data, context);
    data.add("checked", {"rank"}, "1 if the rank's offset was measured", "", checked);
    return data;
}

} // namespace bench
