#include "reporters/table_parts.h"

#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *legend =
    "  latency    time in the operation, mean over ranks (as OSU), and largest over ranks [us]\n"
    "  makespan   from the common start (the deadline, else the first entry) to the last exit [us]\n"
    "  exit skew  from the first rank's leaving the synchronizer to the last one's, median [us]\n"
    "  +-         what the clock's error can add to makespan and exit skew or take away at most [us]\n"
    "  rejected   samples whose synchronization failed, each repeated; count and share of the attempts\n";

constexpr const char *header =
    "                        latency, mean        latency, max             makespan           exit\n"
    "operation      bytes   median     p95     p99   median     p99   median     p95     p99    skew     +-"
    "      rejected\n";

std::string row(const CellResult &result) {
    const Summary &mean = result.metric("latency_avg");
    const Summary &max = result.metric("latency_max");
    const Summary &makespan = result.metric("makespan");
    return operation_column(result) + fmt::format("{:>9} ", size_text(result.cell)) + microseconds(mean.median, 8, 2) +
           microseconds(mean.p95, 8, 2) + microseconds(mean.p99, 8, 2) + " " + microseconds(max.median, 8, 2) +
           microseconds(max.p99, 8, 2) + " " + microseconds(makespan.median, 8, 2) + microseconds(makespan.p95, 8, 2) +
           microseconds(makespan.p99, 8, 2) + microseconds(result.metric("exit_skew").median, 8, 3) +
           clock_error(result, "makespan") + " " + rejected_share(result) + "\n";
}

} // namespace

std::string table_details(const std::vector<CellResult> &results) {
    std::string text = legend;
    for (const std::string &start : distinct(results, describe_start)) {
        text += fmt::format("\nsynchronizer {}\n{}", start, header);
        const CellResult *before = nullptr;
        for (const CellResult &result : results) {
            if (describe_start(result.cell) == start) {
                text += separator(before, result) + row(result);
                before = &result;
            }
        }
    }
    return text;
}

} // namespace bench
