#include "output/table/columns.h"
#include "output/table/sections.h"
#include "patterns/arrival_pattern.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace bench {
namespace {

constexpr const char *legend = "  delay        the largest of the pattern, as requested [us]\n"
                               "  imbalance    of the entries as they were, medians [us]; worst: first to last;\n"
                               "               mean: mean distance from the mean (Faraj 2007)\n"
                               "  global time  from the first entry to the last exit [us], median (t_global,\n"
                               "               Niethammer 2016, Eq. 4)\n"
                               "  after last   from the last entry to the last exit [us], median\n"
                               "  benefit      (t0 + delay - t) / t (Eq. 5), of medians; t0, t: global time\n"
                               "               without and with delay; t - delay is after last\n"
                               "  hidden       (t0 + delay - t) / the shorter of t0 and delay; 1: hidden\n"
                               "               completely\n"
                               "  +-           the most that the clock's error can add to these times, or take\n"
                               "               away [us]\n"
                               "  rej.%        attempts whose synchronization failed; each was repeated\n";

void add_row(ColumnTable &table, const CellResult &result) {
    table.add({describe_operation(result.cell), size_text(result.cell), result.cell.delay,
               result.metric("imbalance_worst").median, result.metric("imbalance_mean").median,
               result.metric("global_time").median, result.metric("after_last_entry").median,
               result.overlap_median.benefit, result.overlap_median.share, clock_error(result, "global_time"),
               rejected_share(result)});
}

/// There is one for every pattern that delays.
const CellResult &undelayed(const std::vector<CellResult> &results, const Cell &cell) {
    return *std::find_if(results.begin(), results.end(), [&](const CellResult &result) {
        return result.cell.pattern == no_pattern && same_but_for_arrival(result.cell, cell);
    });
}

/// "harmonize, pattern one_late", the heading of a block
std::string describe_arrival(const Cell &cell) {
    return fmt::format("{}, pattern {}", describe_start(cell), cell.pattern);
}

constexpr const char *delay_loop_note =
    "this synchronizer has no deadline to delay: a loop after it makes the delays\n";

} // namespace

std::string table_arrival(const std::vector<CellResult> &results) {
    std::vector<CellResult> delayed;
    std::copy_if(results.begin(), results.end(), std::back_inserter(delayed),
                 [](const CellResult &result) { return result.cell.pattern != no_pattern; });
    std::string text;
    for (const std::string &arrival : distinct(delayed, describe_arrival)) {
        ColumnTable table({{"", "operation", ColumnKind::name},
                           {"", "bytes", ColumnKind::text},
                           {"", "delay", ColumnKind::microseconds},
                           {"imbalance", "worst", ColumnKind::microseconds},
                           {"imbalance", "mean", ColumnKind::microseconds},
                           {"global", "time", ColumnKind::microseconds},
                           {"after", "last", ColumnKind::microseconds},
                           {"", "benefit", ColumnKind::ratio},
                           {"", "hidden", ColumnKind::ratio},
                           {"", "+-", ColumnKind::microseconds},
                           {"", "rej.%", ColumnKind::percent}});
        const CellResult *before = nullptr;
        bool has_deadline = true;
        for (const CellResult &result : delayed) {
            if (describe_arrival(result.cell) != arrival) {
                continue;
            }
            if (before == nullptr || describe_subject(before->cell) != describe_subject(result.cell)) {
                const CellResult &reference = undelayed(results, result.cell);
                if (before != nullptr) {
                    table.add_gap();
                }
                add_row(table, reference);
            }
            add_row(table, result);
            before = &result;
            has_deadline = result.has_deadline;
        }
        text += fmt::format("synchronizer {}\n{}{}\n", arrival, table.text(), has_deadline ? "" : delay_loop_note);
    }
    return text + legend;
}

} // namespace bench
