#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *legend = "  compute    computation between call and wait, mean over samples and ranks [us]\n"
                               "  latency    from call to the end of the wait, mean over samples and ranks,\n"
                               "             alone and with computation [us]\n"
                               "  makespan   from the common start to the last exit, median, alone and with\n"
                               "             computation [us]\n"
                               "  OSU        1 - (with - compute) / alone, not below 0, of latency: the overlap\n"
                               "             as osu_i* define it\n"
                               "  IMB        (alone + compute - with) / the shorter of alone and compute, from 0\n"
                               "             to 1, of latency, as IMB-NBC\n"
                               "  window     the same of makespan, not cut off: 1 where the shorter of the two\n"
                               "             is hidden completely\n"
                               "  rej.%      attempts whose synchronization failed; each was repeated\n";

} // namespace

std::string table_overlap(const std::vector<CellResult> &results) {
    std::string text;
    for (const std::string &start : distinct(results, describe_start)) {
        ColumnTable table({{"", "operation", ColumnKind::name},
                           {"", "bytes", ColumnKind::text},
                           {"", "compute", ColumnKind::microseconds},
                           {"latency", "alone", ColumnKind::microseconds},
                           {"latency", "with", ColumnKind::microseconds},
                           {"makespan", "alone", ColumnKind::microseconds},
                           {"makespan", "with", ColumnKind::microseconds},
                           {"overlap", "OSU", ColumnKind::ratio},
                           {"overlap", "IMB", ColumnKind::ratio},
                           {"overlap", "window", ColumnKind::ratio},
                           {"", "rej.%", ColumnKind::percent}});
        const CellResult *before = nullptr;
        for (const CellResult &result : results) {
            if (result.cell.computation == 0.0 || describe_start(result.cell) != start) {
                continue;
            }
            const auto pure = std::find_if(results.begin(), results.end(), [&](const CellResult &other) {
                return other.cell.computation == 0.0 && same_but_for_computation(other.cell, result.cell);
            });
            begin_row(table, before, result);
            table.add({describe_operation(result.cell), size_text(result.cell), result.computed,
                       pure->metric("latency_avg").mean, result.metric("latency_avg").mean,
                       pure->metric("makespan").median, result.metric("makespan").median,
                       result.computation_overlap.osu, result.computation_overlap.imb,
                       result.computation_overlap.window, rejected_share(result)});
            before = &result;
        }
        text += fmt::format("synchronizer {}\n{}\n", start, table.text());
    }
    return text + legend;
}

} // namespace bench
