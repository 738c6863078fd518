#include "output/table/columns.h"
#include "output/table/sections.h"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *legend = "  latency    time in the operation [us], mean over ranks as in OSU; slowest: of\n"
                               "             the slowest rank, median\n"
                               "  makespan   from the common start (the deadline, else the first entry) to the\n"
                               "             last exit [us], median\n"
                               "  exit skew  time between the first and the last rank's start [us], median\n"
                               "  +-         the most that the clock's error can add to makespan and exit skew,\n"
                               "             or take away [us]\n"
                               "  rej.%      attempts whose synchronization failed; each was repeated\n";

} // namespace

std::string table_details(const std::vector<CellResult> &results) {
    std::string text;
    for (const std::string &start : distinct(results, describe_start)) {
        ColumnTable table({{"", "operation", ColumnKind::name},
                           {"", "bytes", ColumnKind::text},
                           {"latency", "median", ColumnKind::microseconds},
                           {"latency", "mean", ColumnKind::microseconds},
                           {"latency", "p99", ColumnKind::microseconds},
                           {"latency", "slowest", ColumnKind::microseconds},
                           {"", "makespan", ColumnKind::microseconds},
                           {"exit", "skew", ColumnKind::microseconds},
                           {"", "+-", ColumnKind::microseconds},
                           {"", "rej.%", ColumnKind::percent}});
        const CellResult *before = nullptr;
        for (const CellResult &result : results) {
            if (describe_start(result.cell) != start) {
                continue;
            }
            const Summary &latency = result.metric("latency_avg");
            begin_row(table, before, result);
            table.add({describe_operation(result.cell), size_text(result.cell), latency.median, latency.mean,
                       latency.p99, result.metric("latency_max").median, result.metric("makespan").median,
                       result.metric("exit_skew").median, clock_error(result, "makespan"), rejected_share(result)});
            before = &result;
        }
        text += fmt::format("synchronizer {}\n{}\n", start, table.text());
    }
    return text + legend;
}

} // namespace bench
