#include "reporters/table_parts.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *legend =
    "  latency    time in the operation, mean over ranks (as OSU), and largest over ranks [us]\n"
    "  makespan   from the common start (the deadline, else the first entry) to the last exit [us]\n"
    "  exit skew  from the first rank's leaving the synchronizer to the last one's, median [us]\n"
    "  rejected   samples whose synchronization failed, each repeated; count and share of the attempts\n";

constexpr const char *header =
    "                        latency, mean              latency, max                makespan           exit\n"
    "operation      bytes   median     p95     p99   median     p95     p99   median     p95     p99    skew"
    "      rejected\n";

std::string row(const CellResult &result) {
    std::string text = fmt::format("{:<11}{:>9}", result.cell.operation, size_text(result.cell));
    for (const char *name : {"latency_avg", "latency_max", "makespan"}) {
        const Summary &metric = result.metric(name);
        text +=
            " " + microseconds(metric.median, 8, 2) + microseconds(metric.p95, 8, 2) + microseconds(metric.p99, 8, 2);
    }
    return text + microseconds(result.metric("exit_skew").median, 8, 3) + " " + rejected_share(result) + "\n";
}

} // namespace

std::string table_details(const std::vector<CellResult> &results) {
    std::vector<std::string> synchronizers;
    for (const CellResult &result : results) {
        if (std::find(synchronizers.begin(), synchronizers.end(), result.cell.synchronizer) == synchronizers.end()) {
            synchronizers.push_back(result.cell.synchronizer);
        }
    }
    std::string text = legend;
    for (const std::string &synchronizer : synchronizers) {
        text += fmt::format("\nsynchronizer {}\n{}", synchronizer, header);
        const CellResult *before = nullptr;
        for (const CellResult &result : results) {
            if (result.cell.synchronizer == synchronizer) {
                text += separator(before, result) + row(result);
                before = &result;
            }
        }
    }
    return text;
}

} // namespace bench
