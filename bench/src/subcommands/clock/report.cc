#include "subcommands/clock/results.h"

#include "output/table/columns.h"
#include "output/table/sections.h"
#include "text/names.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <utility>

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

void add_edges(Dataset &data, const ClockResults &results) {
    std::vector<std::string> schemes;
    std::vector<std::int64_t> ranks;
    std::vector<std::int64_t> partners;
    std::vector<double> residuals;
    for (std::size_t i = 0; i < results.edges.size(); ++i) {
        for (const ClockEdge &edge : results.edges[i].edges) {
            schemes.push_back(results.options.schemes[i]);
            ranks.push_back(edge.rank);
            partners.push_back(edge.partner);
            residuals.push_back(edge.residual);
        }
    }
    if (residuals.empty()) {
        return;
    }
    data.dimensions.push_back({"edge", residuals.size()});
    data.add("edge_scheme", {"edge"}, "scheme whose last synchronization compared two clocks", "", schemes);
    data.add("edge_rank", {"edge"}, "rank that a comparison is of", "", ranks);
    data.add("edge_partner", {"edge"}, "rank it was compared with", "", partners);
    data.add("edge_residual", {"edge"}, "lead of the partner's clock over what all comparisons agree on", "s",
             residuals);
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
    add_edges(data, results);
    add_ranks(data, context);
    data.add("checked", {"rank"}, "1 if the rank's offset was measured", "", checked);
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
    std::vector<std::string> named;
    for (const int rank : checked) {
        if (named.size() == most_ranks_named) {
            named.emplace_back("...");
            break;
        }
        named.push_back(fmt::format("{}", rank));
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

std::string legend(const ClockResults &results, double wait) {
    std::string text = fmt::format("  verdict    most accurate: quickest scheme within {:.0f} % of the smallest error\n"
                                   "             after {} s\n"
                                   "  duration   of a synchronization: largest over ranks, median over repetitions\n"
                                   "             [us]\n"
                                   "  messages   sent or received by a rank: largest over ranks, median over\n"
                                   "             repetitions\n"
                                   "  front      *: on the Pareto front, no other scheme has both a shorter duration\n"
                                   "             and a smaller {} after {} s\n"
                                   "  cold       the same after the first synchronization, when nothing is known\n"
                                   "             of the clocks yet [us]\n"
                                   "  measured   |offset| to rank 0's global clock: largest over ranks, median over\n"
                                   "             repetitions [us]\n",
                                   (about_as_good - 1.0) * 100, wait, error_word(results), wait);
    if (results.truth) {
        text += "  true       |error| of the global clock: largest over ranks, median over\n"
                "             repetitions [us]\n"
                "  bias       signed error: median over ranks and repetitions, shows constant\n"
                "             errors [us]\n";
    }
    text += "  bound      on the error, as the library reports it: largest over all [us]\n";
    if (results.truth) {
        text += "  out.%      ranks and repetitions whose true error exceeds the bound\n";
    }
    return text;
}

std::string overview(const ClockResults &results, const ClockSummary &summary,
                     const std::vector<const SchemeSummary *> &by_duration) {
    const std::size_t deciding = summary.deciding;
    ColumnTable table({{"", "scheme", ColumnKind::name},
                       {"", "duration", ColumnKind::microseconds},
                       {"", "messages", ColumnKind::text},
                       {fmt::format("after {} s", results.options.waits[deciding]), results.truth ? "true" : "measured",
                        ColumnKind::microseconds},
                       {"", "cold", ColumnKind::microseconds},
                       {"", "front", ColumnKind::text}});
    for (const SchemeSummary *scheme : by_duration) {
        table.add({scheme->scheme, scheme->duration, fmt::format("{:.0f}", scheme->messages),
                   quality(scheme->waits[deciding], results.truth),
                   quality(scheme->first_waits[deciding], results.truth), scheme->on_front ? "*" : ""});
    }
    return table.text();
}

std::string wait_table(const ClockResults &results, const std::vector<const SchemeSummary *> &by_duration,
                       std::size_t wait) {
    double first = by_duration.front()->waits[wait].wait_first;
    double last = by_duration.front()->waits[wait].wait_last;
    std::vector<Column> columns = {{"", "scheme", ColumnKind::name}, {"", "measured", ColumnKind::microseconds}};
    if (results.truth) {
        columns.push_back({"", "true", ColumnKind::microseconds});
        columns.push_back({"", "bias", ColumnKind::microseconds});
    }
    columns.push_back({"", "bound", ColumnKind::microseconds});
    if (results.truth) {
        columns.push_back({"", "out.%", ColumnKind::percent});
    }
    ColumnTable table(columns);
    for (const SchemeSummary *scheme : by_duration) {
        const WaitSummary &found = scheme->waits[wait];
        first = std::min(first, found.wait_first);
        last = std::max(last, found.wait_last);
        std::vector<ColumnEntry> row = {scheme->scheme, found.offset};
        if (results.truth) {
            row.insert(row.end(), {found.error, found.bias});
        }
        row.emplace_back(found.bound);
        if (results.truth) {
            row.emplace_back(found.outside);
        }
        table.add(std::move(row));
    }
    return fmt::format("\nafter {} s (measured {:.4f} to {:.4f} s)\n{}", results.options.waits[wait], first, last,
                       table.text());
}

} // namespace

std::string clock_table(const ClockResults &results, const ClockSummary &summary, std::uint64_t seed,
                        const std::string &validation) {
    std::vector<const SchemeSummary *> by_duration;
    for (const SchemeSummary &scheme : summary.schemes) {
        by_duration.push_back(&scheme);
    }
    // By duration, so that errors fall from row to row along the front.
    std::stable_sort(by_duration.begin(), by_duration.end(),
                     [](const SchemeSummary *a, const SchemeSummary *b) { return a->duration < b->duration; });
    std::string text = head(results, summary, seed, validation) + verdict(results, summary, by_duration) +
                       paths(results) + "\n" + legend(results, results.options.waits[summary.deciding]) + "\n" +
                       overview(results, summary, by_duration);
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
