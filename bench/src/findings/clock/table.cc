#include "findings/clock/results.h"

#include "text/names.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace bench {
namespace {

constexpr std::size_t widest_name = 44;
constexpr std::size_t most_ranks_named = 8;
constexpr std::size_t widest_line = 100; // without the indentation
constexpr double about_as_good = 1.1;    // errors that differ by less are not told apart by a few repetitions

std::string line(const char *name, const std::string &value) { return fmt::format("  {:<10}{}\n", name, value); }

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
        clocks = fmt::format("validation clock, so true errors are known\n"
                             "            {}",
                             validation);
    } else if (validation != "off") {
        clocks = "validation clock, but ranks share no true time: true errors are unknown,\n"
                 "            offsets are measured";
    }
    return line("clocks", clocks) +
           line("samples", fmt::format("{} repetitions, each with the schemes in random order; seed {}",
                                       options.repetitions, seed)) +
           line("measured", fmt::format("{} against rank 0, smallest of {} rounds by {}", checked_ranks(results),
                                        options.rounds, options.estimator)) +
           line("barrier",
                fmt::format("MPI_Barrier takes {} on average; a clock with a larger error is no better than a barrier",
                            in_microseconds(summary.barrier)));
}

std::string verdict(const ClockResults &results, const ClockSummary &summary,
                    const std::vector<const SchemeSummary *> &by_duration) {
    if (results.clock_domains == 1) {
        return line("verdict", "none: all ranks share one clock");
    }
    std::vector<const SchemeSummary *> front;
    std::copy_if(by_duration.begin(), by_duration.end(), std::back_inserter(front),
                 [](const SchemeSummary *scheme) { return scheme->on_front; });
    if (front.empty()) {
        return line("verdict", "none: no scheme could be measured");
    }
    const auto say = [&](const char *what, const SchemeSummary &scheme) {
        std::vector<std::string> errors;
        for (const std::size_t wait : {summary.first, summary.deciding}) {
            const std::string error =
                fmt::format("{} after {} s", in_microseconds(quality(scheme.waits[wait], results.truth)),
                            results.options.waits[wait]);
            if (errors.empty() || errors.front() != error) {
                errors.push_back(error);
            }
        }
        const std::string name = fmt::format("{} {}:", what, scheme.scheme);
        const std::string figures = fmt::format("takes {}, is off by {}", duration_text(scheme.duration), join(errors));
        const bool fits = name.size() + figures.size() < widest_line;
        return fmt::format("{}{}{}", name, fits ? " " : "\n              ", figures);
    };
    // On the front errors fall from scheme to scheme; the first that is about as good as the last will do.
    const auto error = [&](const SchemeSummary *scheme) {
        return quality(scheme->waits[summary.deciding], results.truth);
    };
    const SchemeSummary &best = **std::find_if(front.begin(), front.end(), [&](const SchemeSummary *scheme) {
        return error(scheme) <= about_as_good * error(front.back());
    });
    std::string text = line("verdict", say("most accurate", best));
    if (&best != front.front()) {
        text += line("", say("fastest", *front.front()));
    }
    if (results.truth) {
        const bool held = std::all_of(by_duration.begin(), by_duration.end(), [](const SchemeSummary *scheme) {
            return std::all_of(scheme->waits.begin(), scheme->waits.end(),
                               [](const WaitSummary &wait) { return wait.outside == 0.0; });
        });
        text += line("", held ? "every true error was within the bound that the library reported"
                              : "some true errors exceeded the bound that the library reported: see outside");
    }
    return text;
}

std::string legend(const ClockResults &results, double wait) {
    std::string text =
        fmt::format("  verdict    most accurate: quickest scheme within {:.0f} % of the smallest error after {} s\n"
                    "  duration   of a synchronization: largest over ranks, median over repetitions [us]\n"
                    "  messages   sent or received by a rank: largest over ranks, median over repetitions\n"
                    "  *          Pareto front: no other scheme has both a shorter duration and a\n"
                    "             smaller {} after {} s\n"
                    "  measured   |offset| to rank 0's global clock: largest over ranks, median over\n"
                    "             repetitions [us]\n",
                    (about_as_good - 1.0) * 100, wait, error_word(results), wait);
    if (results.truth) {
        text += "  true       |error| of the global clock: largest over ranks, median over repetitions [us]\n"
                "  bias       signed error: median over ranks and repetitions, shows constant errors [us]\n";
    }
    text += "  bound      on the error, as the library reports it: largest over all [us]\n";
    if (results.truth) {
        text += "  outside    share of ranks and repetitions whose true error exceeds the bound\n";
    }
    return text;
}

/// The name in a column of its own, or on a line of its own if it is too long for one.
std::string name_cell(const std::string &name, std::size_t width) {
    return name.size() <= width ? fmt::format("{:<{}}", name, width) : fmt::format("{}\n{:<{}}", name, "", width + 2);
}

std::string overview(const ClockResults &results, const ClockSummary &summary,
                     const std::vector<const SchemeSummary *> &by_duration, std::size_t width) {
    const std::size_t deciding = summary.deciding;
    const std::string title = fmt::format("{} after {} s [us]", error_word(results), results.options.waits[deciding]);
    std::string text = fmt::format("  {:<{}}{:>15}{:>10}{:>32}\n", "scheme", width, "duration [us]", "messages", title);
    for (const SchemeSummary *scheme : by_duration) {
        text += fmt::format("{} {}{:>15.2f}{:>10.0f}{:>32.3f}\n", scheme->on_front ? '*' : ' ',
                            name_cell(scheme->scheme, width), scheme->duration * 1e6, scheme->messages,
                            quality(scheme->waits[deciding], results.truth) * 1e6);
    }
    return text;
}

std::string wait_table(const ClockResults &results, const std::vector<const SchemeSummary *> &by_duration,
                       std::size_t wait, std::size_t width) {
    double first = by_duration.front()->waits[wait].wait_first;
    double last = by_duration.front()->waits[wait].wait_last;
    for (const SchemeSummary *scheme : by_duration) {
        first = std::min(first, scheme->waits[wait].wait_first);
        last = std::max(last, scheme->waits[wait].wait_last);
    }
    std::string text = fmt::format("\n"
                                   "after {} s (measured {:.4f} to {:.4f} s)\n"
                                   "  {:<{}}{:>13}",
                                   results.options.waits[wait], first, last, "scheme", width, "measured");
    text += results.truth ? fmt::format("{:>13}{:>13}{:>13}{:>10}\n", "true", "bias", "bound", "outside")
                          : fmt::format("{:>13}\n", "bound");
    for (const SchemeSummary *scheme : by_duration) {
        const WaitSummary &row = scheme->waits[wait];
        text += fmt::format("  {}{:>13.3f}", name_cell(scheme->scheme, width), row.offset * 1e6);
        text += results.truth ? fmt::format("{:>13.3f}{:>13.3f}{:>13.3f}{:>9.1f}%\n", row.error * 1e6, row.bias * 1e6,
                                            row.bound * 1e6, row.outside * 100)
                              : fmt::format("{:>13.3f}\n", row.bound * 1e6);
    }
    return text;
}

} // namespace

std::string clock_table(const ClockResults &results, const ClockSummary &summary, std::uint64_t seed,
                        const std::string &validation) {
    std::vector<const SchemeSummary *> by_duration;
    std::size_t width = 0;
    for (const SchemeSummary &scheme : summary.schemes) {
        by_duration.push_back(&scheme);
        width = std::max(width, std::min(scheme.scheme.size(), widest_name));
    }
    // By duration, so that errors fall from row to row along the front.
    std::stable_sort(by_duration.begin(), by_duration.end(),
                     [](const SchemeSummary *a, const SchemeSummary *b) { return a->duration < b->duration; });
    width += 1;
    std::string text = head(results, summary, seed, validation) + verdict(results, summary, by_duration) + "\n" +
                       legend(results, results.options.waits[summary.deciding]) + "\n" +
                       overview(results, summary, by_duration, width);
    for (std::size_t wait = 0; wait < results.options.waits.size(); ++wait) {
        text += wait_table(results, by_duration, wait, width);
    }
    return text;
}

} // namespace bench
