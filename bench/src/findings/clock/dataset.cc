#include "findings/clock/results.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

namespace bench {
namespace {

using GetRun = std::function<double(const ClockRun &)>;
using GetEvent = std::function<double(const ClockEvent &)>;
using GetSummary = std::function<double(const WaitSummary &)>;

std::vector<double> of_runs(const ClockResults &results, const GetRun &get) {
    std::vector<double> values;
    for (const std::vector<ClockRun> &runs : results.runs) {
        std::transform(runs.begin(), runs.end(), std::back_inserter(values), get);
    }
    return values;
}

std::vector<double> of_events(const ClockResults &results, const GetEvent &get) {
    std::vector<double> values;
    for (const std::vector<ClockRun> &runs : results.runs) {
        for (const ClockRun &run : runs) {
            std::transform(run.events.begin(), run.events.end(), std::back_inserter(values), get);
        }
    }
    return values;
}

std::vector<double> of_ranks(const ClockResults &results, std::vector<double> ClockEvent::*member) {
    std::vector<double> values;
    for (const std::vector<ClockRun> &runs : results.runs) {
        for (const ClockRun &run : runs) {
            for (const ClockEvent &event : run.events) {
                values.insert(values.end(), (event.*member).begin(), (event.*member).end());
            }
        }
    }
    return values;
}

std::vector<double> of_summaries(const ClockSummary &summary, double WaitSummary::*member) {
    std::vector<double> values;
    for (const SchemeSummary &scheme : summary.schemes) {
        for (const WaitSummary &wait : scheme.waits) {
            values.push_back(wait.*member);
        }
    }
    return values;
}

std::vector<std::int64_t> count_up(std::size_t count) {
    std::vector<std::int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

void add_measurements(Dataset &data, const ClockResults &results) {
    std::vector<std::int64_t> positions;
    for (const std::vector<ClockRun> &runs : results.runs) {
        for (const ClockRun &run : runs) {
            positions.push_back(run.position);
        }
    }
    const std::vector<std::string> run = {"scheme", "repetition"};
    const std::vector<std::string> event = {"scheme", "repetition", "wait"};
    const std::vector<std::string> rank = {"scheme", "repetition", "wait", "rank"};
    data.variables.insert(
        data.variables.end(),
        {{"position", run, "position of the scheme in the random order of the repetition", "", positions},
         {"duration", run, "duration of the synchronization, largest over ranks", "s",
          of_runs(results, [](const ClockRun &r) { return r.duration; })},
         {"messages", run, "messages sent or received in the synchronization, largest over ranks", "",
          of_runs(results, [](const ClockRun &r) { return r.messages; })},
         {"barrier", {"repetition"}, "mean duration of MPI_Barrier", "s", results.barrier},
         {"achieved_wait", event, "time from the end of the synchronization to the start of the measurements", "s",
          of_events(results, [](const ClockEvent &e) { return e.achieved_wait; })},
         {"measured_at", rank, "time from the end of the synchronization to the end of the rank's measurement", "s",
          of_ranks(results, &ClockEvent::measured_at)},
         {"offset", rank, "measured offset of the rank's global clock to rank 0's, smallest of the rounds", "s",
          of_ranks(results, &ClockEvent::offset)},
         {"offset_bound", rank, "bound of the error of offset", "s", of_ranks(results, &ClockEvent::offset_bound)},
         {"error_bound", rank, "bound that the library reports for the rank's global clock", "s",
          of_ranks(results, &ClockEvent::error_bound)},
         {"expected_error", rank, "error of the rank's global clock that the library expects, one standard deviation",
          "s", of_ranks(results, &ClockEvent::expected_error)}});
    if (results.truth) {
        data.variables.push_back({"true_error", rank, "true error of the rank's global clock", "s",
                                  of_ranks(results, &ClockEvent::true_error)});
    }
}

void add_summaries(Dataset &data, const ClockResults &results, const ClockSummary &summary) {
    std::vector<double> durations;
    std::vector<double> messages;
    std::vector<double> first_durations;
    std::vector<double> first_offsets;
    std::vector<double> first_errors;
    std::vector<std::int64_t> front;
    for (const SchemeSummary &scheme : summary.schemes) {
        durations.push_back(scheme.duration);
        messages.push_back(scheme.messages);
        front.push_back(scheme.on_front ? 1 : 0);
        first_durations.push_back(scheme.first_duration);
        for (const WaitSummary &one : scheme.first_waits) {
            first_offsets.push_back(one.offset);
            first_errors.push_back(one.error);
        }
    }
    const std::vector<std::string> wait = {"scheme", "wait"};
    data.variables.insert(
        data.variables.end(),
        {{"duration_median", {"scheme"}, "median of duration over repetitions", "s", durations},
         {"messages_median", {"scheme"}, "median of messages over repetitions", "", messages},
         {"on_front",
          {"scheme"},
          "1 if no other scheme is better in both duration and error at the wait of attribute front_wait_s",
          "",
          front},
         {"first_duration",
          {"scheme"},
          "duration of the first synchronization, with its connections, largest over ranks",
          "s",
          first_durations},
         {"first_offset_max", wait, "largest absolute offset over ranks after the first synchronization", "s",
          first_offsets},
         {"offset_max", wait, "largest absolute offset over ranks, median over repetitions", "s",
          of_summaries(summary, &WaitSummary::offset)},
         {"bound_max", wait, "largest error_bound over ranks and repetitions", "s",
          of_summaries(summary, &WaitSummary::bound)}});
    if (results.truth) {
        data.variables.insert(
            data.variables.end(),
            {{"first_true_max", wait, "largest absolute true_error over ranks after the first synchronization", "s",
              first_errors},
             {"true_median", wait, "median of true_error over repetitions and ranks other than 0", "s",
              of_summaries(summary, &WaitSummary::bias)},
             {"true_max", wait, "largest absolute true_error over ranks, median over repetitions", "s",
              of_summaries(summary, &WaitSummary::error)},
             {"outside", wait, "share of repetitions and ranks other than 0 whose true error exceeds its error_bound",
              "1", of_summaries(summary, &WaitSummary::outside)}});
    }
}

} // namespace

Dataset clock_dataset(const Context &context, const ClockResults &results, const ClockSummary &summary) {
    const ClockOptions &options = results.options;
    Dataset data;
    data.title = "Quality of clock synchronization schemes, measured by downbeat-bench clock";
    data.attributes = {{"experiment", std::string("clock")},
                       {"rounds", options.rounds},
                       {"repetitions", options.repetitions},
                       {"estimator", options.estimator},
                       {"clock_domains", static_cast<long>(results.clock_domains)},
                       {"barrier_mean_s", summary.barrier},
                       {"front_wait_s", options.waits[summary.deciding]}};
    data.dimensions = {{"scheme", options.schemes.size()},
                       {"repetition", static_cast<std::size_t>(options.repetitions)},
                       {"wait", options.waits.size()}};
    data.variables = {
        {"scheme", {"scheme"}, "synchronization scheme, as setting sync takes it", "", options.schemes},
        {"repetition",
         {"repetition"},
         "repetitions in order",
         "",
         count_up(static_cast<std::size_t>(options.repetitions))},
        {"wait", {"wait"}, "requested time from the end of the synchronization to the check", "s", options.waits}};
    add_measurements(data, results);
    add_summaries(data, results, summary);
    add_ranks(data, context);
    std::vector<std::int64_t> checked(context.ranks.size(), 0);
    for (const int rank : options.checked) {
        checked[static_cast<std::size_t>(rank)] = 1;
    }
    data.variables.push_back({"checked", {"rank"}, "1 if the rank's offset was measured", "", checked});
    return data;
}

} // namespace bench
