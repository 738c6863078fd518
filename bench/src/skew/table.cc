#include "reporters/table_parts.h"
#include "skew/results.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr std::size_t name_width = 19;
constexpr std::size_t most_ranks = 10; // side by side

/// The name, on a line of its own where it is longer than its column.
std::string name_column(const std::string &name) {
    return name.size() < name_width ? fmt::format("{:<{}}", name, name_width)
                                    : fmt::format("{}\n{:{}}", name, "", name_width);
}

/// All ranks where they fit, else some from the first to the last, evenly spread.
std::vector<std::size_t> shown_ranks(std::size_t ranks) {
    const std::size_t count = std::min(ranks, most_ranks);
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < count; ++i) {
        shown.push_back(count == 1 ? 0 : i * (ranks - 1) / (count - 1));
    }
    return shown;
}

std::string skew_row(const Skew &skew) {
    std::string text = name_column(skew.cell.cell.synchronizer);
    for (double Summary::*value : {&Summary::median, &Summary::mean, &Summary::p5, &Summary::p25, &Summary::p75,
                                   &Summary::p95, &Summary::p99, &Summary::max}) {
        text += microseconds(skew.skew.*value, 9, 3);
    }
    return text + microseconds(skew.cell.error_bound, 8, 3) + "  " + rejected_share(skew.cell) + "\n";
}

std::string exit_row(const Skew &skew, const std::vector<std::size_t> &ranks) {
    std::string text = name_column(skew.cell.cell.synchronizer);
    double widest = 0.0; // of all ranks; NaN where one has none
    for (const MeanInterval &exit : skew.exits) {
        widest = std::isnan(exit.half) ? exit.half : std::max(widest, exit.half);
    }
    for (const std::size_t rank : ranks) {
        text += microseconds(skew.exits[rank].mean, 9, 3);
    }
    return text + microseconds(widest, 9, 3) + "\n";
}

} // namespace

std::string skew_table(const Context &context, const std::vector<Skew> &skews, const ClockAgreement &agreement) {
    std::string text = fmt::format(
        "  clock     {}, synchronized by {}\n"
        "            at the end of the run {}\n"
        "  samples   {} valid ones behind each synchronizer in blocks in random order, seed {}\n"
        "\n"
        "  skew      from the first rank's leaving the synchronizer to the last one's [us]\n"
        "  bound     of the clock's error: either end of a skew may be wrong by that much [us]\n"
        "  rejected  attempts in which the synchronization failed, each repeated; count and share\n"
        "\n"
        "synchronizer          median     mean       5%      25%      75%      95%      99%      max   bound"
        "       rejected\n",
        clock_setting(context, "clock"), clock_setting(context, "sync"), describe(agreement),
        skews.front().cell.requested, context.seed);
    for (const Skew &skew : skews) {
        text += skew_row(skew);
    }
    const std::size_t all = skews.front().exits.size();
    const std::vector<std::size_t> ranks = shown_ranks(all);
    text +=
        fmt::format("\nwhen each rank leaves: mean after the first that left [us]; +-: 95 % interval, the widest of "
                    "all ranks{}\nsynchronizer       ",
                    ranks.size() < all ? fmt::format("\n{} of {} ranks; files hold all", ranks.size(), all) : "");
    for (const std::size_t rank : ranks) {
        text += fmt::format("{:>9}", fmt::format("rank {}", rank));
    }
    text += "       +-\n";
    for (const Skew &skew : skews) {
        text += exit_row(skew, ranks);
    }
    return text;
}

} // namespace bench
