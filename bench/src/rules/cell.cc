// Judges samples, and computes the result of a cell from its samples (cell.h).
#include "rules/cell.h"

#include "rules/metric.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <utility>

namespace bench {

const std::vector<std::string> &verdict_names() {
    static const std::vector<std::string> names = {"valid", "late_flag", "late_entry", "warmup", "overrun"};
    return names;
}

std::string to_string(Verdict verdict) { return verdict_names()[static_cast<std::size_t>(verdict)]; }

std::size_t StartLimits::max_failed(std::size_t ranks) const {
    constexpr double rounding = 1e-9; // 0.29 of 100 ranks are 28.999999999999996
    return static_cast<std::size_t>(late_ranks * static_cast<double>(ranks) + rounding);
}

Verdict judge(const Sample &sample, const StartLimits &limits) {
    const bool has_deadline = !std::isnan(sample.deadline);
    std::size_t failed = 0; // number of ranks whose starts failed
    bool reported = false;  // the flag of one of them is 0
    for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
        const bool flagged = sample.flag[rank] == 0;
        // The flag is decided before the synchronizer returns; an interruption after that shows only in the entry.
        const bool late = has_deadline && sample.entry[rank] > sample.deadline + sample.delay[rank] + limits.late;
        if (late || (flagged && (limits.flags_count || !has_deadline || sample.unsure[rank] != 0))) {
            ++failed;
            reported = reported || flagged;
        }
    }
    if (failed > limits.max_failed(sample.entry.size())) {
        return reported ? Verdict::late_flag : Verdict::late_entry;
    }
    if (last_exit(sample) > sample.end) { // false if end is NaN
        return Verdict::overrun;
    }
    return Verdict::valid;
}

namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// Overlap of a delay. Times are of a complete sample, not per call. `undelayed` is t0 of struct Overlap and `delayed`
/// is t. `after` is the time from the last entry to the last exit. It replaces t - delta, because t and delta of
/// different samples must not be mixed if delays vary.
Overlap overlap(double undelayed, double delayed, double after, double delay) {
    const double hidden = undelayed - after;
    return {hidden / delayed, hidden / std::min(undelayed, delay)};
}

// Samples that a block needs for a slope: medians of halves of shorter blocks are too noisy.
constexpr long min_for_slope = 20;

/// For each block that is long enough: the median of its last half divided by the median of its first half, minus 1.
/// The middle value of an odd number is in neither half. `step`: see median_interval.
std::vector<double> slopes_within(std::span<const double> values, BlockSizes blocks, double step) {
    std::vector<double> slopes;
    std::size_t begin = 0;
    for (const long size : blocks) {
        const auto count = static_cast<std::size_t>(size);
        const auto median_from = [&](std::size_t first) {
            const auto half = values.subspan(first, count / 2);
            return summarize({half.begin(), half.end()}, {}, step).median;
        };
        if (size >= min_for_slope) {
            slopes.push_back(median_from(begin + count - count / 2) / median_from(begin) - 1.0);
        }
        begin += count;
    }
    return slopes;
}

/// True if the cells agree in algorithm, size, synchronizer and timing scheme.
bool same_size_and_start(const Cell &a, const Cell &b) {
    return a.algorithm == b.algorithm && a.size == b.size && a.synchronizer == b.synchronizer &&
           a.barrier_algorithm == b.barrier_algorithm && a.timing == b.timing;
}

/// "name[algorithm]", or "name" with the default algorithm.
std::string with_algorithm(const std::string &name, const std::string &algorithm) {
    return algorithm == "default" ? name : fmt::format("{}[{}]", name, algorithm);
}

} // namespace

std::string describe_operation(const Cell &cell) { return with_algorithm(cell.operation, cell.algorithm); }

std::string describe_synchronizer(const Cell &cell) {
    return with_algorithm(cell.synchronizer, cell.barrier_algorithm);
}

std::string describe_start(const Cell &cell) {
    // Timing scheme window, which needs synchronizer window, times single calls like per_call.
    const bool single = cell.timing == "per_call" || cell.timing == cell.synchronizer;
    return single ? describe_synchronizer(cell) : fmt::format("{}, {}", describe_synchronizer(cell), cell.timing);
}

std::string describe_cell(const Cell &cell) {
    const std::string size = cell.size == 0 ? "" : fmt::format(" of {} bytes", cell.size);
    const std::string pattern =
        cell.pattern == "none" ? "" : fmt::format(", {} by {:g} us", cell.pattern, cell.delay * 1e6);
    return fmt::format("{}{} after {}{}", describe_operation(cell), size, describe_start(cell), pattern);
}

bool same_but_for_arrival(const Cell &a, const Cell &b) {
    return a.operation == b.operation && same_size_and_start(a, b);
}

bool same_but_for_computation(const Cell &a, const Cell &b) {
    return a.pure_operation == b.pure_operation && same_size_and_start(a, b) && a.pattern == b.pattern &&
           a.delay == b.delay;
}

const std::vector<std::string> &cell_status_names() {
    static const std::vector<std::string> names = {"ok", "incomplete", "failed", "wrong"};
    return names;
}

std::string to_string(CellStatus status) { return cell_status_names()[static_cast<std::size_t>(status)]; }

const Summary &CellResult::metric(const std::string &name) const {
    const auto &all = all_metrics();
    return metrics.at(static_cast<std::size_t>(&find_by_name(all, name) - all.data()));
}

void compare_with_undelayed(CellResult &result, const CellResult &undelayed) {
    const auto calls = static_cast<double>(result.calls);
    const double delay = result.metric("imbalance_worst").median; // achieved delay, not the planned one
    const auto compare = [&](double Summary::*statistic) {
        return overlap(calls * undelayed.metric("global_time").*statistic,
                       calls * result.metric("global_time").*statistic,
                       calls * result.metric("after_last_entry").*statistic, delay);
    };
    result.overlap_median = compare(&Summary::median);
    result.overlap_min = compare(&Summary::min);
}

void compare_with_pure(CellResult &result, const CellResult &pure) {
    const double pure_time = pure.metric("latency_avg").mean;
    const double visible = result.metric("latency_avg").mean - result.computed; // not hidden behind computation
    const double pure_window = pure.metric("makespan").median;
    result.computation_overlap = {
        .osu = std::max(0.0, 1.0 - visible / pure_time),
        .imb = std::clamp((pure_time - visible) / std::min(pure_time, result.computed), 0.0, 1.0),
        .window = (pure_window - result.uncomputed) / std::min(pure_window, result.computed)};
}

std::string describe_shortfall(const CellResult &result) {
    if (result.status == CellStatus::wrong) {
        return fmt::format("wrong results in {} of {} validated calls, {}", result.wrong, result.validated,
                           result.error);
    }
    return result.valid < result.requested
               ? fmt::format("{} of {} samples valid", result.valid, result.requested)
               : fmt::format("{} samples valid, but less precise than requested", result.valid);
}

CellRecord::CellRecord(std::size_t index, Cell cell) : values_(all_metrics().size()), steps_(all_metrics().size()) {
    result_.index = index;
    result_.cell = std::move(cell);
    result_.calls = 1;
    result_.lateness = no_value;
    result_.overlap_median = result_.overlap_min = {no_value, no_value};
    result_.computation_overlap = {no_value, no_value, no_value};
}

void CellRecord::add(const Batch &batch, const std::vector<Verdict> &verdicts) {
    result_.error_bound = std::max(result_.error_bound, batch.error_bound);
    result_.expected_error = std::max(result_.expected_error, batch.expected_error);
    result_.calls = batch.calls;
    time_.resize(batch.timed.size()); // the same number of ranks in each batch of a cell
    std::ranges::transform(all_metrics(), steps_.begin(), [&](const Metric &metric) { return metric.step(batch); });
    for (std::size_t i = 0; i < batch.size(); ++i) {
        result_.has_deadline = !std::isnan(batch.deadline[i]);
        result_.late_flag += verdicts[i] == Verdict::late_flag ? 1 : 0;
        result_.late_entry += verdicts[i] == Verdict::late_entry ? 1 : 0;
        result_.overrun += verdicts[i] == Verdict::overrun ? 1 : 0;
        result_.discarded += verdicts[i] == Verdict::warmup ? 1 : 0;
        if (verdicts[i] != Verdict::valid) {
            continue;
        }
        ++result_.valid;
        ++blocks_.back();
        if (!std::isnan(batch.slack[i])) {
            slack_.push_back(batch.slack[i]);
        }
        const Sample sample = batch[i];
        result_.lateness = std::fmax(result_.lateness, bench::lateness(sample)); // ignores NaN
        for (std::size_t m = 0; m < values_.size(); ++m) {
            values_[m].push_back(all_metrics()[m].value(sample));
        }
        for (std::size_t t = 0; t < batch.timed.size(); ++t) {
            time_[t] += latency(sample, batch.timed[t]);
        }
        const auto calls = static_cast<double>(batch.calls);
        result_.computed +=
            std::reduce(sample.computed.begin(), sample.computed.end()) / static_cast<double>(batch.ranks) / calls;
        const double computed = *std::ranges::max_element(sample.computed) / calls;
        uncomputed_.push_back(find_by_name(all_metrics(), "makespan").value(sample) - computed);
    }
}

void CellRecord::add_validation(long calls, long wrong, const std::string &error) {
    if (result_.wrong == 0) { // `error` is "", or the first error
        result_.error = error;
    }
    result_.validated += calls;
    result_.wrong += wrong;
}

void CellRecord::end_block(bool starved) {
    blocks_.push_back(0);
    starved_ = starved;
}

CellProgress CellRecord::progress() const {
    return {.blocks = static_cast<long>(blocks_.size()) - 1,
            .valid = result_.valid,
            .seconds = result_.wall_time,
            .starved = starved_,
            .values = values_,
            .block_sizes = blocks_,
            .steps = steps_};
}

CellResult CellRecord::result(const StoppingRule &rule) const {
    CellResult result = result_;
    result.requested = rule.min_samples();
    result.blocks = static_cast<long>(blocks_.size()) - 1;
    result.status = result.wrong > 0              ? CellStatus::wrong
                    : result.valid == 0           ? CellStatus::failed
                    : !rule.satisfied(progress()) ? CellStatus::incomplete
                                                  : CellStatus::ok;
    result.slack = summarize(slack_).median;
    result.computed /= static_cast<double>(result.valid); // NaN without valid samples, like all means below
    result.uncomputed = summarize(uncomputed_).median;
    for (std::size_t m = 0; m < values_.size(); ++m) {
        result.metrics.push_back(summarize(values_[m], blocks_, steps_[m]));
    }
    const auto latency = static_cast<std::size_t>(&find_by_name(all_metrics(), "latency_avg") - all_metrics().data());
    const std::vector<double> slopes = slopes_within(values_[latency], blocks_, steps_[latency]);
    result.slope = summarize(slopes).median;
    result.slope_by_chance = mean_interval(slopes, {}, 0.999).half;
    const auto valid = static_cast<double>(result.valid);
    result.mean_of_means = std::accumulate(time_.begin(), time_.end(), 0.0) / static_cast<double>(time_.size()) / valid;
    result.max_of_means = time_.empty() ? no_value : *std::ranges::max_element(time_) / valid;
    result.min_of_means = time_.empty() ? no_value : *std::ranges::min_element(time_) / valid;
    return result;
}

} // namespace bench
