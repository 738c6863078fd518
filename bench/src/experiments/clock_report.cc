// The output of `downbeat-bench clock`: fields of its dataset, lines above its tables, warnings.
#include "experiments/clock_results.h"

#include "output/table.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

constexpr auto us = ColumnKind::microseconds;

const std::vector<FieldOf<ClockRun>> &run_fields() {
    static const std::vector<FieldOf<ClockRun>> declared = {
        {"position", "", "position of the scheme in the random order of the repetition", &ClockRun::position},
        {"duration", "s", "duration of the synchronization, largest over ranks", &ClockRun::duration},
        {"messages", "", "messages sent or received in the synchronization, largest over ranks", &ClockRun::messages}};
    return declared;
}

const std::vector<FieldOf<ClockEvent>> event_fields = {
    {"achieved_wait", "s", "time from the end of the synchronization to the start of the measurements",
     &ClockEvent::achieved_wait}};

/// Fields of a check with a value per rank. `truth`: true errors are known.
std::vector<FieldOf<ClockEvent>> rank_fields(bool truth) {
    std::vector<FieldOf<ClockEvent>> fields = {
        {"measured_at", "s", "time from the end of the synchronization to the end of the rank's measurement",
         &ClockEvent::measured_at},
        {"offset", "s", "measured offset of the rank's global clock to rank 0's, smallest of the rounds",
         &ClockEvent::offset},
        {"offset_bound", "s", "bound of the error of offset", &ClockEvent::offset_bound},
        {"error_bound", "s", "bound that the library reports for the rank's global clock", &ClockEvent::error_bound},
        {"expected_error", "s", "error of the rank's global clock that the library expects, one standard deviation",
         &ClockEvent::expected_error}};
    if (truth) {
        fields.push_back({"true_error", "s", "true error of the rank's global clock", &ClockEvent::true_error});
    }
    return fields;
}

const FieldOf<SchemeSummary> name_field = {"scheme", "", "synchronization scheme, as setting sync takes it",
                                           &SchemeSummary::scheme};

const std::vector<FieldOf<SchemeSummary>> &scheme_fields() {
    using Summary = SchemeSummary;
    static const std::vector<FieldOf<Summary>> declared = {
        {"duration_median", "s", "duration of a synchronization, largest over ranks, median over repetitions",
         &Summary::duration, Column{"duration", "median", us}},
        {"on_front", "",
         "1 if no other scheme is better in both duration and error at the wait of attribute "
         "front_wait_s",
         &Summary::on_front},
        {"first_duration", "s", "duration of the first synchronization, with its connections, largest over ranks",
         &Summary::first_duration, Column{"duration", "first", us}},
        {"messages_median", "", "messages that a rank sends or receives, largest over ranks, median over repetitions",
         &Summary::messages, Column{"", "messages", ColumnKind::whole}}};
    return declared;
}

/// A scheme at a wait: a row of the table.
struct SchemeAtWait {
    std::string scheme;
    WaitSummary repeated; // over the repetitions
    WaitSummary first;    // after the first synchronization, when the library had no earlier comparisons of the clocks
};

/// Fields with a value per scheme and wait. `truth`: true errors are known.
std::vector<FieldOf<SchemeAtWait>> wait_fields(bool truth) {
    const auto of = [](WaitSummary SchemeAtWait::*summary, double WaitSummary::*member) {
        return [=](const SchemeAtWait &row) { return row.*summary.*member; };
    };
    using Summary = WaitSummary;
    constexpr auto repeated = &SchemeAtWait::repeated;
    constexpr auto first = &SchemeAtWait::first;
    const Column cold{"", "cold", us};
    std::vector<FieldOf<SchemeAtWait>> fields = {
        {"offset_max", "s", "|offset| to rank 0's global clock, largest over ranks, median over repetitions",
         of(repeated, &Summary::offset), Column{"", "measured", us}},
        {"true_max", "s", "|true error| of the global clock, largest over ranks, median over repetitions",
         of(repeated, &Summary::error), Column{"", "true", us}},
        {"true_median", "s", "true error, median over repetitions and ranks other than 0: shows constant errors",
         of(repeated, &Summary::bias), Column{"", "bias", us}},
        {"bound_max", "s", "largest bound on the error that the library reports", of(repeated, &Summary::bound),
         Column{"", "bound", us}},
        {"outside", "1", "share of repetitions and ranks other than 0 whose true error exceeds its bound",
         of(repeated, &Summary::outside), Column{"", "out.%", ColumnKind::percent}},
        {"first_offset_max", "s", "largest absolute offset over ranks after the first synchronization",
         of(first, &Summary::offset), truth ? Column{} : cold},
        {"first_true_max", "s", "largest absolute true_error over ranks after the first synchronization",
         of(first, &Summary::error), cold}};
    if (!truth) {
        std::erase_if(fields, [](const FieldOf<SchemeAtWait> &field) {
            return contains(std::vector<std::string>{"true_max", "true_median", "outside", "first_true_max"},
                            field.name);
        });
    }
    return fields;
}

/// An edge and the scheme that has it.
struct SchemeEdge : ClockEdge {
    std::string scheme;
};

const std::vector<FieldOf<SchemeEdge>> edge_fields = {
    {"edge_scheme", "", "scheme whose last synchronization compared two clocks", &SchemeEdge::scheme},
    {"edge_rank", "", "rank that a comparison is of", &SchemeEdge::rank},
    {"edge_partner", "", "rank it was compared with", &SchemeEdge::partner},
    {"edge_residual", "s", "lead of the partner's clock over what all comparisons agree on", &SchemeEdge::residual}};

} // namespace

Dataset clock_dataset(const Context &context, const ClockResults &results, const ClockSummary &summary) {
    const ClockOptions &options = results.options;
    const auto repetitions = static_cast<std::size_t>(options.repetitions);
    std::vector<ClockRun> runs;
    std::vector<ClockEvent> events;
    for (const std::vector<ClockRun> &of_scheme : results.runs) {
        for (const ClockRun &run : of_scheme) {
            runs.push_back(run);
            events.insert(events.end(), run.events.begin(), run.events.end());
        }
    }
    std::vector<SchemeAtWait> at_waits;
    for (const SchemeSummary &scheme : summary.schemes) {
        for (std::size_t wait = 0; wait < options.waits.size(); ++wait) {
            at_waits.push_back({scheme.scheme, scheme.waits[wait], scheme.first_waits[wait]});
        }
    }
    std::vector<SchemeEdge> edges;
    for (std::size_t i = 0; i < results.edges.size(); ++i) {
        for (const ClockEdge &edge : results.edges[i].edges) {
            edges.push_back({edge, options.schemes[i]});
        }
    }
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
    data.add<SchemeSummary>({name_field}, {"scheme"}, summary.schemes);
    data.add({"repetition", "", "repetitions in order", FieldType::count}, {"repetition"}, count_up(repetitions));
    data.add({"wait", "s", "requested time from the end of the synchronization to the check"}, {"wait"}, options.waits);
    data.add(scheme_fields(), {"scheme"}, summary.schemes);
    data.add(wait_fields(results.truth), {"scheme", "wait"}, at_waits);
    data.add(run_fields(), {"scheme", "repetition"}, runs);
    data.add({"barrier", "s", "mean duration of MPI_Barrier"}, {"repetition"}, results.barrier);
    data.add(event_fields, {"scheme", "repetition", "wait"}, events);
    add_ranks(data, context);
    data.add({"checked", "", "1 if the rank's offset was measured", FieldType::count}, {"rank"}, checked);
    data.add(rank_fields(results.truth), {"scheme", "repetition", "wait"}, events, {"rank"});
    if (!edges.empty()) {
        data.dimensions.push_back({"edge", edges.size()});
        data.add(edge_fields, {"edge"}, edges);
    }
    return data;
}

std::string clock_head(const Context &context, const ClockResults &results) {
    constexpr std::size_t max_ranks = 8; // named in the line
    std::vector<std::string> ranks = mapped(results.options.checked, [](int rank) { return fmt::format("{}", rank); });
    if (ranks.size() > max_ranks) {
        ranks.resize(max_ranks);
        ranks.emplace_back("...");
    }
    std::string text =
        line_above("validation", join(split(clock_setting(context, "validation")))) +
        line_above("checked", fmt::format("rank{} {} against rank 0", ranks.size() == 1 ? "" : "s", join(ranks)));
    for (std::size_t i = 0; i < results.edges.size(); ++i) {
        const std::vector<ClockEdge> &edges = results.edges[i].edges;
        if (!edges.empty()) {
            const ClockEdge &worst =
                *std::ranges::max_element(edges, {}, [](const ClockEdge &edge) { return std::abs(edge.residual); });
            text += line_above("paths", fmt::format("{}: scatter {:.3f} us, worst rank {} with {}: {:.3f} us",
                                                    results.options.schemes[i], results.edges[i].scatter * 1e6,
                                                    worst.rank, worst.partner, std::abs(worst.residual) * 1e6));
        }
    }
    return text;
}

namespace {

// There is a warning if a wait exceeds the requested wait by more than this share and by more than this time.
constexpr double max_late_share = 0.1;
constexpr double max_late_seconds = 0.05;

void warn_of_bounds(const ClockResults &results, const ClockSummary &summary, std::vector<std::string> &warnings) {
    for (const SchemeSummary &scheme : summary.schemes) {
        for (std::size_t i = 0; i < scheme.waits.size(); ++i) {
            if (scheme.waits[i].outside > 0.0) {
                warnings.push_back(fmt::format(
                    "{:.1f} % of the true errors of {} after {} s exceed the bound that the library reports: clocks "
                    "drift faster than it allows for, or its bound is wrong; keep 2 (skew + wander) of "
                    "DOWNBEAT_VALIDATION below DOWNBEAT_MAX_SKEW; if that is so already, please report a bug",
                    scheme.waits[i].outside * 100, scheme.scheme, results.options.waits[i]));
            }
        }
    }
}

void warn_of_waits(const ClockResults &results, const ClockSummary &summary, std::vector<std::string> &warnings) {
    for (std::size_t i = 0; i < results.options.waits.size(); ++i) {
        const double requested = results.options.waits[i];
        double worst = 0.0;
        for (const SchemeSummary &scheme : summary.schemes) {
            worst = std::max(worst, scheme.waits[i].wait_last - requested);
        }
        if (worst > std::max(max_late_seconds, max_late_share * requested)) {
            warnings.push_back(fmt::format("measurements planned {} s after a synchronization began up to {:.3f} s "
                                           "late because another scheme was being synchronized or measured: clocks had "
                                           "drifted further than the column says; request fewer schemes per run",
                                           requested, worst));
        }
    }
}

} // namespace

std::vector<std::string> find_clock_warnings(const ClockResults &results, const ClockSummary &summary) {
    std::vector<std::string> warnings;
    if (results.clock_domains == 1) {
        warnings.emplace_back(shared_clock_warning);
    }
    warn_of_bounds(results, summary, warnings);
    warn_of_waits(results, summary, warnings);
    return warnings;
}

} // namespace bench
