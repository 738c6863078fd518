#include "experiments/clock_results.h"

#include "output/table.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace bench {
namespace {

constexpr auto us = ColumnKind::microseconds;

const std::vector<FieldOf<ClockRun>> &run_fields() {
    static const std::vector<FieldOf<ClockRun>> all = {
        {"position", "", "position of the scheme in the random order of the repetition", &ClockRun::position},
        {"duration", "s", "duration of the synchronization, largest over ranks", &ClockRun::duration},
        {"messages", "", "messages sent or received in the synchronization, largest over ranks", &ClockRun::messages}};
    return all;
}

const std::vector<FieldOf<ClockEvent>> event_fields = {
    {"achieved_wait", "s", "time from the end of the synchronization to the start of the measurements",
     &ClockEvent::achieved_wait}};

/// Per rank.
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
                                           &SchemeSummary::scheme, Column{"", "scheme", ColumnKind::name}};

const std::vector<FieldOf<SchemeSummary>> &scheme_fields() {
    using Summary = SchemeSummary;
    static const std::vector<FieldOf<Summary>> all = {
        {"duration_median", "s", "duration of a synchronization, largest over ranks, median over repetitions",
         &Summary::duration, Column{"", "duration", us}},
        {"messages_median", "", "messages that a rank sends or receives, largest over ranks, median over repetitions",
         &Summary::messages, Column{"", "messages", ColumnKind::whole}},
        {"on_front", "",
         "1 if no other scheme is better in both duration and error at the wait of attribute "
         "front_wait_s",
         &Summary::on_front},
        {"first_duration", "s", "duration of the first synchronization, with its connections, largest over ranks",
         &Summary::first_duration}};
    return all;
}

/// A scheme some time after a synchronization, and after the first one, when nothing was known of the clocks.
struct Waited {
    std::string scheme;
    WaitSummary later;
    WaitSummary first;
};

std::vector<FieldOf<Waited>> wait_fields(bool truth) {
    const auto later = [](double WaitSummary::*member) {
        return [member](const Waited &row) { return row.later.*member; };
    };
    const auto first = [](double WaitSummary::*member) {
        return [member](const Waited &row) { return row.first.*member; };
    };
    std::vector<FieldOf<Waited>> fields = {
        {"first_offset_max", "s", "largest absolute offset over ranks after the first synchronization",
         first(&WaitSummary::offset)},
        {"offset_max", "s", "|offset| to rank 0's global clock, largest over ranks, median over repetitions",
         later(&WaitSummary::offset), Column{"", "measured", us}}};
    if (truth) {
        const std::vector<FieldOf<Waited>> known = {
            {"first_true_max", "s", "largest absolute true_error over ranks after the first synchronization",
             first(&WaitSummary::error)},
            {"true_max", "s", "|true error| of the global clock, largest over ranks, median over repetitions",
             later(&WaitSummary::error), Column{"", "true", us}},
            {"true_median", "s", "true error, median over repetitions and ranks other than 0: shows constant errors",
             later(&WaitSummary::bias), Column{"", "bias", us}}};
        fields.insert(fields.end(), known.begin(), known.end());
    }
    fields.push_back({"bound_max", "s", "largest bound on the error that the library reports",
                      later(&WaitSummary::bound), Column{"", "bound", us}});
    if (truth) {
        fields.push_back({"outside", "1",
                          "share of repetitions and ranks other than 0 whose true error exceeds its bound",
                          later(&WaitSummary::outside), Column{"", "out.%", ColumnKind::percent}});
    }
    return fields;
}

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
    std::vector<Waited> waited;
    for (const SchemeSummary &scheme : summary.schemes) {
        for (std::size_t wait = 0; wait < options.waits.size(); ++wait) {
            waited.push_back({scheme.scheme, scheme.waits[wait], scheme.first_waits[wait]});
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
    data.add(wait_fields(results.truth), {"scheme", "wait"}, waited);
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

namespace {

constexpr std::size_t most_ranks_named = 8;
constexpr double about_as_good = 1.1; // a few repetitions cannot distinguish errors that differ by less

std::string in_microseconds(double seconds) { return fmt::format("{:.3f} us", seconds * 1e6); }

/// In a convenient unit.
std::string duration_text(double seconds) {
    return seconds < 1e-3  ? fmt::format("{:.1f} us", seconds * 1e6)
           : seconds < 1.0 ? fmt::format("{:.1f} ms", seconds * 1e3)
                           : fmt::format("{:.2f} s", seconds);
}

/// The summary's name for a clock's error: true if it is known.
std::string error_word(const ClockResults &results) { return results.truth ? "true error" : "measured offset"; }

std::string checked_ranks(const ClockResults &results) {
    const std::vector<int> &checked = results.options.checked;
    std::vector<std::string> named = mapped(checked, [](int rank) { return fmt::format("{}", rank); });
    if (named.size() > most_ranks_named) {
        named.resize(most_ranks_named);
        named.emplace_back("...");
    }
    return checked.size() == 1 ? "rank " + named.front() : fmt::format("{} ranks ({})", checked.size(), join(named));
}

std::string head(const ClockResults &results, const ClockSummary &summary, std::uint64_t seed,
                 const std::string &validation) {
    const ClockOptions &options = results.options;
    std::string clocks =
        fmt::format("{} real clocks that differ: true errors are unknown, offsets are measured", results.clock_domains);
    if (results.truth) {
        clocks = fmt::format("validation clock, so true errors are known ({})", join(split(validation)));
    } else if (validation != "off") {
        clocks = "validation clock, but ranks share no true time: true errors are unknown, offsets are measured";
    }
    return line_above("clocks", clocks) +
           line_above("samples", fmt::format("{} repetitions, each with the schemes in random order; seed {}",
                                             options.repetitions, seed)) +
           line_above("measured", fmt::format("{} against rank 0, smallest of {} rounds by {}", checked_ranks(results),
                                              options.rounds, options.estimator)) +
           line_above(
               "barrier",
               fmt::format("MPI_Barrier takes {} on average; a clock with a larger error is no better than a barrier",
                           in_microseconds(summary.barrier)));
}

std::string verdict(const ClockResults &results, const ClockSummary &summary,
                    const std::vector<const SchemeSummary *> &by_duration) {
    if (results.clock_domains == 1) {
        return line_above("verdict", "none: all ranks share one clock");
    }
    std::vector<const SchemeSummary *> front;
    std::copy_if(by_duration.begin(), by_duration.end(), std::back_inserter(front),
                 [](const SchemeSummary *scheme) { return scheme->on_front; });
    if (front.empty()) {
        return line_above("verdict", "none: no scheme could be measured");
    }
    const auto say = [&](const char *what, const SchemeSummary &scheme, bool first = false) {
        std::vector<std::string> errors;
        for (const std::size_t wait : {summary.first, summary.deciding}) {
            const std::string error = fmt::format(
                "{} after {} s",
                in_microseconds(quality(first ? scheme.first_waits[wait] : scheme.waits[wait], results.truth)),
                results.options.waits[wait]);
            if (errors.empty() || errors.front() != error) {
                errors.push_back(error);
            }
        }
        return fmt::format("{} {}: takes {}, is off by {}", what, scheme.scheme,
                           duration_text(first ? scheme.first_duration : scheme.duration), join(errors));
    };
    // On the front errors fall from scheme to scheme; the first that is about as good as the last will do.
    const auto error = [&](const SchemeSummary *scheme) {
        return quality(scheme->waits[summary.deciding], results.truth);
    };
    const SchemeSummary &best = **std::find_if(front.begin(), front.end(), [&](const SchemeSummary *scheme) {
        return error(scheme) <= about_as_good * error(front.back());
    });
    std::string text = line_above("verdict", say("most accurate", best));
    if (&best != front.front()) {
        text += line_above("", say("fastest", *front.front()));
    }
    if (results.truth) {
        const bool held = std::all_of(by_duration.begin(), by_duration.end(), [](const SchemeSummary *scheme) {
            return std::all_of(scheme->waits.begin(), scheme->waits.end(),
                               [](const WaitSummary &wait) { return wait.outside == 0.0; });
        });
        text += line_above("", held ? "every true error was within the bound that the library reported"
                                    : "some true errors exceeded the library's bound: see out.%");
    }
    // Before the first synchronization nothing is known of the clocks, so schemes that learn have no advantage.
    const auto first_error = [&](const SchemeSummary *scheme) {
        return quality(scheme->first_waits[summary.deciding], results.truth);
    };
    const auto cold =
        std::min_element(by_duration.begin(), by_duration.end(), [&](const SchemeSummary *a, const SchemeSummary *b) {
            return first_error(a) < first_error(b) || (std::isnan(first_error(b)) && !std::isnan(first_error(a)));
        });
    text += line_above("cold", say("first synchronization: most accurate", **cold, true));
    if (*cold != &best) {
        text += line_above("", say("of", best, true));
    }
    return text;
}

/// How far comparisons with partners are from what all agree on, and the worst of them: a route, a queue, an adapter.
std::string paths(const ClockResults &results) {
    std::string text;
    for (std::size_t i = 0; i < results.edges.size(); ++i) {
        const ClockEdges &found = results.edges[i];
        if (found.edges.empty()) {
            continue;
        }
        const ClockEdge &worst =
            *std::max_element(found.edges.begin(), found.edges.end(), [](const ClockEdge &a, const ClockEdge &b) {
                return std::abs(a.residual) < std::abs(b.residual);
            });
        text += line_above(text.empty() ? "paths" : "",
                           fmt::format("{}: comparisons scatter by {}; worst: rank {} with {}, {}",
                                       results.options.schemes[i], in_microseconds(found.scatter), worst.rank,
                                       worst.partner, in_microseconds(std::abs(worst.residual))));
    }
    return text;
}

/// Of the overview: the fields of a scheme, and its errors at the deciding wait.
std::vector<ColumnOf<SchemeSummary>> overview_columns(const ClockResults &results, std::size_t deciding) {
    const double wait = results.options.waits[deciding];
    std::vector<ColumnOf<SchemeSummary>> columns = {column_of(name_field)};
    columns.back().legend = "";
    for (ColumnOf<SchemeSummary> &column : columns_of(scheme_fields())) {
        columns.push_back(std::move(column));
    }
    columns.push_back({{fmt::format("after {} s", wait), results.truth ? "true" : "measured", us},
                       [=, truth = results.truth](const SchemeSummary &scheme) -> ColumnEntry {
                           return quality(scheme.waits[deciding], truth);
                       }});
    columns.push_back(
        {{"", "cold", us, "the same after the first synchronization, when nothing is known of the clocks"},
         [=, truth = results.truth](const SchemeSummary &scheme) -> ColumnEntry {
             return quality(scheme.first_waits[deciding], truth);
         }});
    columns.push_back({{"", "front", ColumnKind::text,
                        fmt::format("*: on the Pareto front, no other scheme has both a shorter duration and a smaller "
                                    "{} after {} s",
                                    error_word(results), wait)},
                       [](const SchemeSummary &scheme) -> ColumnEntry { return scheme.on_front ? "*" : ""; }});
    return columns;
}

std::vector<ColumnOf<Waited>> wait_columns(bool truth) {
    std::vector<ColumnOf<Waited>> columns = {
        {{"", "scheme", ColumnKind::name}, [](const Waited &row) -> ColumnEntry { return row.scheme; }}};
    for (ColumnOf<Waited> &column : columns_of(wait_fields(truth))) {
        columns.push_back(std::move(column));
    }
    return columns;
}

std::string wait_table(const ClockResults &results, const std::vector<SchemeSummary> &by_duration, std::size_t wait) {
    double first = by_duration.front().waits[wait].wait_first;
    double last = by_duration.front().waits[wait].wait_last;
    std::vector<Waited> rows;
    for (const SchemeSummary &scheme : by_duration) {
        first = std::min(first, scheme.waits[wait].wait_first);
        last = std::max(last, scheme.waits[wait].wait_last);
        rows.push_back({scheme.scheme, scheme.waits[wait], scheme.first_waits[wait]});
    }
    return fmt::format("\nafter {} s (measured {:.4f} to {:.4f} s)\n{}", results.options.waits[wait], first, last,
                       table_of(wait_columns(results.truth), rows));
}

} // namespace

std::string clock_table(const ClockResults &results, const ClockSummary &summary, std::uint64_t seed,
                        const std::string &validation) {
    // By duration, so that errors fall from row to row along the front.
    std::vector<SchemeSummary> by_duration = summary.schemes;
    std::ranges::stable_sort(by_duration, {}, &SchemeSummary::duration);
    std::vector<const SchemeSummary *> ordered;
    for (const SchemeSummary &scheme : by_duration) {
        ordered.push_back(&scheme);
    }
    const std::vector<ColumnOf<SchemeSummary>> columns = overview_columns(results, summary.deciding);
    std::string text =
        head(results, summary, seed, validation) + verdict(results, summary, ordered) + paths(results) +
        fmt::format("\n  verdict    most accurate: quickest scheme within {:.0f} % of the smallest error\n"
                    "             after {} s\n",
                    (about_as_good - 1.0) * 100, results.options.waits[summary.deciding]) +
        legend_of(columns) + legend_of(wait_columns(results.truth)) + "\n" + table_of(columns, by_duration);
    for (std::size_t wait = 0; wait < results.options.waits.size(); ++wait) {
        text += wait_table(results, by_duration, wait);
    }
    return text;
}

namespace {

// A wait that differs by more than this share from the requested one answers another question.
constexpr double small_share = 0.1;
constexpr double small_wait = 0.05; // seconds

void warn_of_shared_clock(const ClockResults &results, std::vector<std::string> &warnings) {
    if (results.clock_domains == 1) {
        warnings.push_back("all ranks share one clock, as the library verified: offsets are 0 by construction and say "
                           "nothing about the schemes; set DOWNBEAT_SHARE=never, or give every rank a clock with a "
                           "known error, e.g. DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6");
    }
}

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
        const double asked = results.options.waits[i];
        double worst = 0.0;
        for (const SchemeSummary &scheme : summary.schemes) {
            worst = std::max(worst, scheme.waits[i].wait_last - asked);
        }
        if (worst > std::max(small_wait, small_share * asked)) {
            warnings.push_back(fmt::format("measurements planned {} s after a synchronization began up to {:.3f} s "
                                           "late because another scheme was being synchronized or measured: clocks had "
                                           "drifted further than the column says; request fewer schemes per run",
                                           asked, worst));
        }
    }
}

} // namespace

std::vector<std::string> find_clock_warnings(const ClockResults &results, const ClockSummary &summary) {
    std::vector<std::string> warnings;
    warn_of_shared_clock(results, warnings);
    warn_of_bounds(results, summary, warnings);
    warn_of_waits(results, summary, warnings);
    return warnings;
}

} // namespace bench
