#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *legend = "  latency    time in the operation [us], mean over ranks as in OSU\n"
                               "  ratio      median latency / median latency with harmonize; 1.00: the\n"
                               "             synchronizer did no harm\n"
                               "  makespan   from the common start (the deadline, else the first entry) to the\n"
                               "             last exit [us], median\n"
                               "  exit skew  time between the first and the last rank's start [us]\n"
                               "  +-         the most that the clock's error can add to makespan and exit skew,\n"
                               "             or take away [us]\n"
                               "  rej.%      attempts whose synchronization failed; each was repeated\n";

/// NaN where harmonize is not among the synchronizers.
double latency_with_harmonize(const std::vector<CellResult> &results, const Cell &cell) {
    const std::string timing = cell.timing == "window" ? "per_call" : cell.timing; // either times single calls
    const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult &result) {
        return describe_subject(result.cell) == describe_subject(cell) && result.cell.timing == timing &&
               result.cell.synchronizer == "harmonize";
    });
    return found == results.end() ? std::nan("") : found->metric("latency_avg").median;
}

} // namespace

std::string table_synchronizers(const std::vector<CellResult> &results) {
    std::string text;
    for (const std::string &subject : distinct(results, describe_subject)) {
        ColumnTable table({{"", "synchronizer", ColumnKind::name},
                           {"latency", "median", ColumnKind::microseconds},
                           {"latency", "mean", ColumnKind::microseconds},
                           {"latency", "p99", ColumnKind::microseconds},
                           {"", "ratio", ColumnKind::ratio},
                           {"", "makespan", ColumnKind::microseconds},
                           {"exit skew", "median", ColumnKind::microseconds},
                           {"exit skew", "p99", ColumnKind::microseconds},
                           {"", "+-", ColumnKind::microseconds},
                           {"", "rej.%", ColumnKind::percent}});
        for (const CellResult &result : results) {
            if (describe_subject(result.cell) != subject) {
                continue;
            }
            const Summary &latency = result.metric("latency_avg");
            const Summary &skew = result.metric("exit_skew");
            table.add({describe_start(result.cell), latency.median, latency.mean, latency.p99,
                       latency.median / latency_with_harmonize(results, result.cell), result.metric("makespan").median,
                       skew.median, skew.p99, clock_error(result, "makespan"), rejected_share(result)});
        }
        text += fmt::format("{}\n{}\n", subject, table.text());
    }
    return text + legend;
}

} // namespace bench
