#include "reporters/table_parts.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *legend =
    "  computed   computation between call and wait, mean over samples and ranks [us]\n"
    "  latency    from call to the end of the wait, mean over samples and ranks, without and with computation [us]\n"
    "  makespan   from the common start to the last exit, median, without and with computation [us]\n"
    "  OSU        1 - (with - computed) / without, not below 0, of latency, as osu_i* define overlap\n"
    "  IMB        (without + computed - with) / the shorter of without and computed, 0 to 1, of latency, as IMB-NBC\n"
    "  window     the same of makespan, not cut off: 1 where the shorter of the two is hidden completely\n"
    "  rejected   samples whose synchronization failed, each repeated; count and share of the attempts\n";

constexpr const char *header =
    "                                   latency            makespan               overlap\n"
    "operation      bytes computed  without     with   without     with     +-     OSU     IMB  window      rejected\n";

std::string row(const CellResult *before, const CellResult &result, const CellResult &pure) {
    return subject_columns(before, result) + microseconds(result.computed, 9, 2) +
           microseconds(pure.metric("latency_avg").mean, 9, 2) + microseconds(result.metric("latency_avg").mean, 9, 2) +
           microseconds(pure.metric("makespan").median, 10, 2) + microseconds(result.metric("makespan").median, 9, 2) +
           clock_error(result, "makespan") + ratio(result.computation_overlap.osu, 8) +
           ratio(result.computation_overlap.imb, 8) + ratio(result.computation_overlap.window, 8) + " " +
           rejected_share(result) + "\n";
}

} // namespace

std::string table_overlap(const std::vector<CellResult> &results) {
    std::string text = legend;
    for (const std::string &start : distinct(results, describe_start)) {
        text += fmt::format("\nsynchronizer {}\n{}", start, header);
        const CellResult *before = nullptr;
        for (const CellResult &result : results) {
            if (result.cell.computation == 0.0 || describe_start(result.cell) != start) {
                continue;
            }
            const auto pure = std::find_if(results.begin(), results.end(), [&](const CellResult &other) {
                return other.cell.computation == 0.0 && same_but_for_computation(other.cell, result.cell);
            });
            text += row(before, result, *pure);
            before = &result;
        }
    }
    return text;
}

} // namespace bench
