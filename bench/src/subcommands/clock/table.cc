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
    std::string text = head(results, summary, seed, validation) + verdict(results, summary, by_duration) + "\n" +
                       legend(results, results.options.waits[summary.deciding]) + "\n" +
                       overview(results, summary, by_duration);
    for (std::size_t wait = 0; wait < results.options.waits.size(); ++wait) {
        text += wait_table(results, by_duration, wait);
    }
    return text;
}

} // namespace bench
