#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *barrier = "mpi_barrier";
constexpr const char *harmonize = "harmonize";

constexpr const char *legend = "  latency    time in the operation [us], mean over ranks as in OSU; median and\n"
                               "             mean over samples, after mpi_barrier and with a common start\n"
                               "             (harmonize)\n"
                               "  ratio      first median / second median; 1.00: the barrier does no harm\n"
                               "  exit skew  time between the first and the last rank's start, median [us]\n"
                               "  rej.%      attempts whose synchronization failed, the larger of the two\n"
                               "             shares; each was repeated\n";

const CellResult *find(const std::vector<CellResult> &results, const Cell &cell, const char *synchronizer) {
    const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult &result) {
        return describe_subject(result.cell) == describe_subject(cell) && result.cell.synchronizer == synchronizer;
    });
    return found == results.end() ? nullptr : &*found;
}

} // namespace

bool is_comparison(const std::vector<CellResult> &results) {
    return distinct(results, [](const Cell &cell) { return cell.timing; }).size() == 1 &&
           std::all_of(results.begin(), results.end(),
                       [](const CellResult &result) { return result.cell.barrier_algorithm == default_algorithm; }) &&
           std::all_of(results.begin(), results.end(), [&](const CellResult &result) {
               const std::string &name = result.cell.synchronizer;
               return (name == barrier || name == harmonize) && find(results, result.cell, barrier) != nullptr &&
                      find(results, result.cell, harmonize) != nullptr;
           });
}

std::string table_comparison(const std::vector<CellResult> &results) {
    ColumnTable table({{"", "operation", ColumnKind::name},
                       {"", "bytes", ColumnKind::text},
                       {"after barrier", "median", ColumnKind::microseconds},
                       {"after barrier", "mean", ColumnKind::microseconds},
                       {"common start", "median", ColumnKind::microseconds},
                       {"common start", "mean", ColumnKind::microseconds},
                       {"", "ratio", ColumnKind::ratio},
                       {"exit skew", "barrier", ColumnKind::microseconds},
                       {"exit skew", "common", ColumnKind::microseconds},
                       {"", "rej.%", ColumnKind::percent}});
    const CellResult *before = nullptr;
    for (const CellResult &result : results) {
        if (result.cell.synchronizer != barrier) {
            continue;
        }
        const CellResult &common = *find(results, result.cell, harmonize);
        const Summary &after_barrier = result.metric("latency_avg");
        const Summary &from_start = common.metric("latency_avg");
        begin_row(table, before, result);
        table.add({describe_operation(result.cell), size_text(result.cell), after_barrier.median, after_barrier.mean,
                   from_start.median, from_start.mean,
                   after_barrier.median / from_start.median, // Schuchart 2023, section 6.1
                   result.metric("exit_skew").median, common.metric("exit_skew").median,
                   std::max(rejected_share(result), rejected_share(common))});
        before = &result;
    }
    const std::string &timing = results.front().cell.timing;
    return (timing == "per_call" ? "" : fmt::format("timing {}, times per call\n", timing)) + table.text() + "\n" +
           legend;
}

} // namespace bench
