#include "reporters/table_parts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

// Longer names stand on a line of their own, above their numbers.
constexpr std::size_t widest_name = 29;

constexpr const char *legend =
    "  latency    time in the operation, mean over ranks (as OSU) [us]\n"
    "  delta      median latency / median latency under harmonize; 1: the synchronizer did no harm\n"
    "  makespan   from the common start (the deadline, else the first entry) to the last exit [us]\n"
    "  exit skew  from the first rank's leaving the synchronizer to the last one's [us]\n"
    "  +-         what the clock's error can add to makespan and exit skew or take away at most [us]\n"
    "  rejected   samples whose synchronization failed, each repeated; count and share of the attempts\n";

constexpr const char *columns[] = {
    "                 latency                   makespan        exit skew\n",
    "   median     p95     p99  delta   median     p99   median     p99     +-      rejected\n"};

std::string row(const CellResult &result, double reference, std::size_t width) {
    const Summary &latency = result.metric("latency_avg");
    const Summary &makespan = result.metric("makespan");
    const Summary &skew = result.metric("exit_skew");
    const std::string name = describe_start(result.cell);
    return fmt::format("{:<{}} ", name.size() > width ? name + "\n" : name, width) +
           std::string(name.size() > width ? width : 0, ' ') + microseconds(latency.median, 8, 2) +
           microseconds(latency.p95, 8, 2) + microseconds(latency.p99, 8, 2) + ratio(latency.median / reference, 7) +
           " " + microseconds(makespan.median, 8, 2) + microseconds(makespan.p99, 8, 2) + " " +
           microseconds(skew.median, 8, 3) + microseconds(skew.p99, 8, 3) + clock_error(result, "makespan") + " " +
           rejected_share(result) + "\n";
}

/// NaN where harmonize is not among the synchronizers.
double latency_under_harmonize(const std::vector<CellResult> &results, const Cell &cell) {
    const std::string timing = cell.timing == "window" ? "per_call" : cell.timing; // either times single calls
    const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult &result) {
        return describe_subject(result.cell) == describe_subject(cell) && result.cell.timing == timing &&
               result.cell.synchronizer == "harmonize";
    });
    return found == results.end() ? std::nan("") : found->metric("latency_avg").median;
}

} // namespace

std::string table_synchronizers(const std::vector<CellResult> &results) {
    std::size_t width = std::string("synchronizer").size();
    for (const CellResult &result : results) {
        const std::size_t size = describe_start(result.cell).size();
        width = size <= widest_name ? std::max(width, size) : width;
    }
    std::string text = legend;
    for (const std::string &subject : distinct(results, describe_subject)) {
        text +=
            fmt::format("\n{}\n{:<{}} {}{:<{}} {}", subject, "", width, columns[0], "synchronizer", width, columns[1]);
        for (const CellResult &result : results) {
            if (describe_subject(result.cell) == subject) {
                text += row(result, latency_under_harmonize(results, result.cell), width);
            }
        }
    }
    return text;
}

} // namespace bench
