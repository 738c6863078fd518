#include "output/table/columns.h"
#include "output/table/sections.h"
#include "subcommands/skew/results.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr std::size_t most_ranks = 7; // side by side

/// All ranks where they fit, else some from the first to the last, evenly spread.
std::vector<std::size_t> shown_ranks(std::size_t ranks) {
    const std::size_t count = std::min(ranks, most_ranks);
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < count; ++i) {
        shown.push_back(count == 1 ? 0 : i * (ranks - 1) / (count - 1));
    }
    return shown;
}

std::string rows_of_skews(const std::vector<Skew> &skews) {
    ColumnTable table({{"", "synchronizer", ColumnKind::name},
                       {"exit skew", "median", ColumnKind::microseconds},
                       {"exit skew", "mean", ColumnKind::microseconds},
                       {"exit skew", "5%", ColumnKind::microseconds},
                       {"exit skew", "95%", ColumnKind::microseconds},
                       {"exit skew", "99%", ColumnKind::microseconds},
                       {"exit skew", "max", ColumnKind::microseconds},
                       {"", "bound", ColumnKind::microseconds},
                       {"", "rej.%", ColumnKind::percent}});
    for (const Skew &skew : skews) {
        table.add({skew.cell.cell.synchronizer, skew.skew.median, skew.skew.mean, skew.skew.p5, skew.skew.p95,
                   skew.skew.p99, skew.skew.max, skew.cell.error_bound, rejected_share(skew.cell)});
    }
    return table.text();
}

std::string rows_of_exits(const std::vector<Skew> &skews, const std::vector<std::size_t> &ranks) {
    std::vector<Column> columns = {{"", "synchronizer", ColumnKind::name}};
    for (const std::size_t rank : ranks) {
        columns.push_back({"rank", fmt::format("{}", rank), ColumnKind::microseconds});
    }
    columns.push_back({"", "+-", ColumnKind::microseconds});
    ColumnTable table(columns);
    for (const Skew &skew : skews) {
        double widest = 0.0; // of all ranks; NaN if one has none
        for (const MeanInterval &exit : skew.exits) {
            widest = std::isnan(exit.half) ? exit.half : std::max(widest, exit.half);
        }
        std::vector<ColumnEntry> row = {skew.cell.cell.synchronizer};
        for (const std::size_t rank : ranks) {
            row.emplace_back(skew.exits[rank].mean);
        }
        row.emplace_back(widest);
        table.add(std::move(row));
    }
    return table.text();
}

} // namespace

std::string skew_table(const Context &context, const std::vector<Skew> &skews, const ClockAgreement &agreement) {
    const std::size_t all = skews.front().exits.size();
    const std::vector<std::size_t> ranks = shown_ranks(all);
    return line_above("clock", fmt::format("{}, synchronized by {}", clock_setting(context, "clock"),
                                           clock_setting(context, "sync"))) +
           line_above("", fmt::format("at the end of the run {}", describe(agreement))) +
           line_above("samples",
                      fmt::format("{} valid ones after each synchronizer, in blocks in random order, seed {}",
                                  skews.front().cell.requested, context.seed)) +
           fmt::format("\n{}\n"
                       "  exit skew  time between the first and the last rank's exit from the\n"
                       "             synchronizer [us]\n"
                       "  bound      of the clock's error: either end of a skew may be off by this much\n"
                       "             [us]\n"
                       "  rej.%      attempts whose synchronization failed; each was repeated\n"
                       "\n"
                       "when each rank leaves: mean after the first that left [us]; +-: 95 % interval,\n"
                       "the widest of all ranks\n"
                       "{}{}",
                       rows_of_skews(skews),
                       ranks.size() < all ? fmt::format("{} of {} ranks; files hold all\n", ranks.size(), all) : "",
                       rows_of_exits(skews, ranks));
}

} // namespace bench
