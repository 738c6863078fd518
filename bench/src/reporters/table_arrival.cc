#include "arrival_pattern.h"
#include "reporters/table_parts.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace bench {
namespace {

constexpr const char *legend =
    "  delay        largest of the pattern, as asked for [us]\n"
    "  imbalance    of the entries as they came, medians: first to last; mean distance from the mean (Faraj 2007) "
    "[us]\n"
    "  global time  from the first entry to the last exit (t_global, Niethammer 2016, Eq. 4) [us]\n"
    "  after last   from the last entry to the last exit, median [us]\n"
    "  +-           what the clock's error can add to these times or take away at most [us]\n"
    "  benefit      (t0 + delay - t) / t (Eq. 5): t0, t global time without and with delay; t - delay, of the same\n"
    "               samples, is after last; of medians\n"
    "  hidden       (t0 + delay - t) / the shorter of t0 and delay; 1: hidden completely\n"
    "  rejected     samples whose synchronization failed, each repeated; count and share of the attempts\n";

constexpr const char *header =
    "                                  imbalance        global time     after\n"
    "operation      bytes    delay    worst    mean   median      min    last     +-  benefit  hidden      rejected\n";

std::string row(const CellResult &result) {
    const Summary &time = result.metric("global_time");
    return operation_column(result) + fmt::format("{:>9}", size_text(result.cell)) +
           microseconds(result.cell.delay, 9, 2) + microseconds(result.metric("imbalance_worst").median, 9, 2) +
           microseconds(result.metric("imbalance_mean").median, 8, 2) + microseconds(time.median, 9, 2) +
           microseconds(time.min, 9, 2) + microseconds(result.metric("after_last_entry").median, 8, 2) +
           clock_error(result, "global_time") + ratio(result.overlap_median.benefit, 9) +
           ratio(result.overlap_median.share, 8) + " " + rejected_share(result) + "\n";
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
    "delays here are made by a delay loop after the synchronizer, which has no deadline to delay\n";

} // namespace

std::string table_arrival(const std::vector<CellResult> &results) {
    std::vector<CellResult> delayed;
    std::copy_if(results.begin(), results.end(), std::back_inserter(delayed),
                 [](const CellResult &result) { return result.cell.pattern != no_pattern; });
    std::string text = legend;
    for (const std::string &arrival : distinct(delayed, describe_arrival)) {
        text += fmt::format("\nsynchronizer {}\n{}", arrival, header);
        const CellResult *before = nullptr;
        bool has_deadline = true;
        for (const CellResult &result : delayed) {
            if (describe_arrival(result.cell) != arrival) {
                continue;
            }
            if (before == nullptr || describe_subject(before->cell) != describe_subject(result.cell)) {
                text += (before == nullptr ? "" : "\n") + row(undelayed(results, result.cell));
            }
            text += row(result);
            before = &result;
            has_deadline = result.has_deadline;
        }
        text += has_deadline ? "" : delay_loop_note;
    }
    return text;
}

} // namespace bench
