#include "experiments/skew_results.h"

#include "output/context.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t bins = 100;
constexpr double drawn = 0.99;       // quantile up to which the bins reach
constexpr double least_width = 1e-9; // of a bin, seconds: finer than any clock ticks

// An error of the clock adds to a skew in full.
constexpr double small_share = 0.1;

} // namespace

Skew study_skew(SkewRecording recording, const CellResult &cell, std::size_t ranks) {
    std::vector<double> skews;
    std::map<std::size_t, long> valid; // by block, in order
    std::vector<std::vector<double>> after_first(ranks);
    for (std::size_t i = 0; i < recording.verdict.size(); ++i) {
        if (recording.verdict[i] != Verdict::valid) {
            continue;
        }
        const auto exits = std::span(recording.exit).subspan(i * ranks, ranks);
        const auto [first, last] = std::minmax_element(exits.begin(), exits.end());
        skews.push_back(*last - *first);
        ++valid[recording.block[i]];
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            after_first[rank].push_back(exits[rank] - *first);
        }
    }
    std::vector<long> blocks;
    for (const auto &[block, size] : valid) {
        blocks.push_back(size);
    }
    Skew result{
        std::move(recording), cell, summarize(skews, blocks), {0.0, 0.0, std::vector<std::size_t>(bins, 0), 0}, {}};
    if (!skews.empty()) {
        std::ranges::sort(skews);
        result.histogram = make_histogram(skews, bins, drawn, least_width);
    }
    for (const std::vector<double> &values : after_first) {
        result.exits.push_back(mean_interval(values, blocks, 0.95));
    }
    return result;
}

std::vector<std::string> find_skew_warnings(const std::vector<Skew> &skews, const ClockAgreement &agreement) {
    std::vector<std::string> warnings;
    std::vector<std::string> uncertain;
    for (const Skew &skew : skews) {
        if (skew.cell.error_bound > small_share * skew.skew.median) { // false if there is no median
            uncertain.push_back(fmt::format("{} ({:.3f} us)", skew.cell.cell.synchronizer, skew.skew.median * 1e6));
        }
    }
    if (!uncertain.empty()) {
        double bound = 0.0;
        for (const Skew &skew : skews) {
            bound = std::max(bound, skew.cell.error_bound);
        }
        warnings.push_back(fmt::format("the clock's error bound, up to {:.3f} us, is more than 10 % of the median skew "
                                       "of {}: a skew may be off by that much at either end; set DOWNBEAT_SYNC to a "
                                       "scheme with a narrower bound (downbeat-bench clock compares them)",
                                       bound * 1e6,
                                       uncertain.size() == skews.size() ? "any synchronizer" : join(uncertain)));
    }
    warn_of_agreement(agreement, warnings);
    return warnings;
}

} // namespace bench
