#include "reporters/table_parts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *barrier = "mpi_barrier";
constexpr const char *harmonize = "harmonize";

constexpr const char *header =
    "  latency    time in the operation, mean over ranks (as OSU), median over samples [us]\n"
    "  delta      latency under mpi_barrier / latency under harmonize; 1: the barrier did no harm\n"
    "  exit skew  from the first rank's leaving the synchronizer to the last one's, median over samples [us]\n"
    "  rejected   samples whose synchronization failed, each repeated; count and share of the attempts\n"
    "\n"
    "                             latency [us]              exit skew [us]                  rejected\n"
    "operation      bytes  mpi_barrier  harmonize  delta  mpi_barrier  harmonize    mpi_barrier     harmonize\n";

const CellResult *find(const std::vector<CellResult> &results, const Cell &cell, const char *synchronizer) {
    const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult &result) {
        return describe_subject(result.cell) == describe_subject(cell) && result.cell.synchronizer == synchronizer;
    });
    return found == results.end() ? nullptr : &*found;
}

std::string row(const CellResult *before, const CellResult &with_barrier, const CellResult &with_harmonize) {
    const double latency_barrier = with_barrier.metric("latency_avg").median;
    const double latency_harmonize = with_harmonize.metric("latency_avg").median;
    const double delta = latency_barrier / latency_harmonize; // Schuchart 2023, section 6.1
    return fmt::format("{}  {} {} {:>6}  {} {} {} {}\n", subject_columns(before, with_barrier),
                       microseconds(latency_barrier, 11, 2), microseconds(latency_harmonize, 10, 2),
                       std::isnan(delta) ? "-" : fmt::format("{:.2f}", delta),
                       microseconds(with_barrier.metric("exit_skew").median, 11, 3),
                       microseconds(with_harmonize.metric("exit_skew").median, 10, 3), rejected_share(with_barrier),
                       rejected_share(with_harmonize));
}

} // namespace

bool is_comparison(const std::vector<CellResult> &results) {
    return distinct(results, [](const Cell &cell) { return cell.timing; }).size() == 1 &&
           std::all_of(results.begin(), results.end(),
                       [](const CellResult &result) { return result.cell.barrier_algorithm == "default"; }) &&
           std::all_of(results.begin(), results.end(), [&](const CellResult &result) {
               const std::string &name = result.cell.synchronizer;
               return (name == barrier || name == harmonize) && find(results, result.cell, barrier) != nullptr &&
                      find(results, result.cell, harmonize) != nullptr;
           });
}

std::string table_comparison(const std::vector<CellResult> &results) {
    const std::string &timing = results.front().cell.timing;
    std::string text = timing == "per_call" ? "" : fmt::format("timing {}, times per call\n", timing);
    text += header;
    const CellResult *before = nullptr;
    for (const CellResult &result : results) {
        if (result.cell.synchronizer == barrier) {
            text += row(before, result, *find(results, result.cell, harmonize));
            before = &result;
        }
    }
    return text;
}

} // namespace bench
