// Summarizes the results of `downbeat-bench clock` (clock_results.h).
#include "experiments/clock_results.h"

#include "rules/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace bench {
namespace {

constexpr double deciding_wait = 5.0; // wait after which errors decide on the Pareto front, s; Hunold 2015, figure 10
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The largest absolute value, without NaN; NaN if all values are NaN.
double largest(const std::vector<double> &values) {
    double largest = unknown;
    for (const double value : values) {
        if (!std::isnan(value)) {
            largest = std::isnan(largest) ? std::abs(value) : std::max(largest, std::abs(value));
        }
    }
    return largest;
}

double median(const std::vector<double> &values) { return summarize(values).median; }

/// Summarizes the checks of the runs after a wait. `truth`: true errors are known.
WaitSummary summarize_wait(const std::vector<ClockRun> &runs, std::size_t wait, bool truth) {
    std::vector<double> offsets;
    std::vector<double> errors;
    std::vector<double> signed_errors;
    std::vector<double> bounds;
    std::vector<double> waits;
    std::size_t outside = 0;
    for (const ClockRun &run : runs) {
        const ClockEvent &event = run.events[wait];
        offsets.push_back(largest(event.offset));
        errors.push_back(largest(event.true_error));
        bounds.push_back(largest(event.error_bound));
        waits.push_back(event.achieved_wait);
        for (std::size_t rank = 1; rank < event.true_error.size(); ++rank) {
            signed_errors.push_back(event.true_error[rank]);
            outside += std::abs(event.true_error[rank]) > event.error_bound[rank] ? 1 : 0;
        }
    }
    return {.offset = median(offsets),
            .bias = truth ? median(signed_errors) : unknown,
            .error = truth ? median(errors) : unknown,
            .bound = largest(bounds),
            .outside = truth ? static_cast<double>(outside) / static_cast<double>(signed_errors.size()) : unknown,
            .wait_last = std::ranges::max(waits)};
}

/// Summarizes the runs of a scheme, and its first synchronization. `waits`: number of waits.
SchemeSummary summarize_scheme(const std::string &scheme, const ClockRun &first, const std::vector<ClockRun> &runs,
                               std::size_t waits, bool truth) {
    std::vector<double> durations;
    std::vector<double> messages;
    for (const ClockRun &run : runs) {
        durations.push_back(run.duration);
        messages.push_back(run.messages);
    }
    SchemeSummary summary{scheme, median(durations), median(messages), {}, first.duration, {}, false};
    for (std::size_t wait = 0; wait < waits; ++wait) {
        summary.waits.push_back(summarize_wait(runs, wait, truth));
        summary.first_waits.push_back(summarize_wait({first}, wait, truth));
    }
    return summary;
}

} // namespace

std::vector<bool> pareto_front(const std::vector<Cost> &points) {
    const auto beats = [](const Cost &a, const Cost &b) {
        return a.duration <= b.duration && a.error <= b.error && (a.duration < b.duration || a.error < b.error);
    };
    std::vector<bool> front;
    for (const Cost &point : points) {
        front.push_back(
            !std::isnan(point.duration) && !std::isnan(point.error) &&
            std::none_of(points.begin(), points.end(), [&](const Cost &rival) { return beats(rival, point); }));
    }
    return front;
}

ClockSummary summarize_clocks(const ClockResults &results) {
    const std::vector<double> &waits = results.options.waits;
    ClockSummary summary{};
    const auto nearest = std::min_element(waits.begin(), waits.end(), [](double a, double b) {
        return std::abs(a - deciding_wait) < std::abs(b - deciding_wait);
    });
    summary.deciding = static_cast<std::size_t>(nearest - waits.begin());
    summary.barrier = summarize(results.barrier).mean;
    std::vector<Cost> costs;
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        summary.schemes.push_back(summarize_scheme(results.options.schemes[i], results.first[i], results.runs[i],
                                                   waits.size(), results.truth));
        const SchemeSummary &scheme = summary.schemes.back();
        const WaitSummary &wait = scheme.waits[summary.deciding];
        costs.push_back({scheme.duration, results.truth ? wait.error : wait.offset});
    }
    const std::vector<bool> front = pareto_front(costs);
    for (std::size_t i = 0; i < front.size(); ++i) {
        summary.schemes[i].on_front = front[i];
    }
    return summary;
}

int upper_half(int ranks) { return ranks - std::max(1, ranks / 2); }

std::vector<int> draw_sample(int ranks, int count, std::uint64_t seed) {
    std::vector<int> sample(static_cast<std::size_t>(upper_half(ranks)));
    std::iota(sample.begin(), sample.end(), ranks - upper_half(ranks));
    std::mt19937_64 random(seed);
    shuffle(sample, random);
    sample.resize(static_cast<std::size_t>(count));
    std::sort(sample.begin(), sample.end());
    return sample;
}

} // namespace bench
