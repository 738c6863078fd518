#include "metrics/metric.h"
#include "output/table/columns.h"
#include "output/table/sections.h"
#include "patterns/arrival_pattern.h"
#include "text/names.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>

namespace bench {

double clock_error(const CellResult &result, const char *metric) {
    return result.valid > 0 ? find_by_name(all_metrics(), metric).error_bounds * result.error_bound : std::nan("");
}

double rejected_share(const CellResult &result) {
    return static_cast<double>(result.rejected()) / static_cast<double>(result.valid + result.rejected());
}

std::string describe_subject(const Cell &cell) {
    return cell.size == 0 ? describe_operation(cell) : fmt::format("{}, {} bytes", describe_operation(cell), cell.size);
}

std::string size_text(const Cell &cell) { return cell.size == 0 ? "-" : fmt::format("{}", cell.size); }

std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell)) {
    std::vector<std::string> texts;
    for (const CellResult &result : results) {
        if (!contains(texts, describe(result.cell))) {
            texts.push_back(describe(result.cell));
        }
    }
    return texts;
}

namespace {

constexpr const char *barrier = "mpi_barrier";
constexpr const char *harmonize = "harmonize";

const std::string makespan_legend = "  makespan   from the common start (the deadline, else the first entry) to the\n"
                                    "             last exit [us], median\n";
const std::string bound_legend = "  +-         the most that the clock's error can add to makespan and exit skew,\n"
                                 "             or take away [us]\n";
const std::string rejected_legend = "  rej.%      attempts whose synchronization failed; each was repeated\n";

/// A column of cells: what it shows of a cell and of the one that this is compared with, if any.
struct CellColumn : Column {
    std::function<ColumnEntry(const CellResult &result, const CellResult *reference)> value;
};

/// A number of the cell.
template <typename Get> CellColumn number(const char *group, const char *heading, ColumnKind kind, Get get) {
    return {{group, heading, kind},
            [get](const CellResult &result, const CellResult *) -> ColumnEntry { return std::invoke(get, result); }};
}

CellColumn metric(const char *group, const char *heading, const char *name, double Summary::*statistic) {
    return number(group, heading, ColumnKind::microseconds,
                  [=](const CellResult &result) { return result.metric(name).*statistic; });
}

/// The same metric of the reference.
CellColumn reference_metric(const char *group, const char *heading, const char *name, double Summary::*statistic) {
    return {{group, heading, ColumnKind::microseconds},
            [=](const CellResult &, const CellResult *reference) -> ColumnEntry {
                return reference->metric(name).*statistic;
            }};
}

CellColumn bound(const char *name) {
    return number("", "+-", ColumnKind::microseconds,
                  [=](const CellResult &result) { return clock_error(result, name); });
}

CellColumn words(const char *heading, ColumnKind kind, std::string (*describe)(const Cell &)) {
    return {{"", heading, kind},
            [=](const CellResult &result, const CellResult *) -> ColumnEntry { return describe(result.cell); }};
}

const CellColumn operation = words("operation", ColumnKind::name, describe_operation);
const CellColumn bytes = words("bytes", ColumnKind::text, size_text);
const CellColumn rejected = number("", "rej.%", ColumnKind::percent, rejected_share);

class CellTable {
public:
    explicit CellTable(const std::vector<CellColumn> &columns)
        : columns_(columns), table_({columns.begin(), columns.end()}) {}

    void add(const CellResult &result, const CellResult *reference = nullptr) {
        std::vector<ColumnEntry> row;
        for (const CellColumn &column : columns_) {
            row.push_back(column.value(result, reference));
        }
        table_.add(std::move(row));
    }
    /// The same after an empty line where another operation begins.
    void add_in_groups(const CellResult &result, const CellResult *reference = nullptr) {
        const std::string name = describe_operation(result.cell);
        if (!last_.empty() && last_ != name) {
            table_.add_gap();
        }
        last_ = name;
        add(result, reference);
    }
    void add_gap() { table_.add_gap(); }
    std::string text() const { return table_.text(); }

private:
    const std::vector<CellColumn> &columns_;
    ColumnTable table_;
    std::string last_;
};

/// A table for each text of the cells, below a line with it; `add` adds a cell to its table.
template <typename Add>
std::string tables(const std::vector<CellColumn> &columns, const std::vector<CellResult> &results, const char *heading,
                   std::string (*describe)(const Cell &), Add add) {
    std::string text;
    for (const std::string &described : distinct(results, describe)) {
        CellTable table(columns);
        for (const CellResult &result : results) {
            if (describe(result.cell) == described) {
                add(table, result);
            }
        }
        text += fmt::format("{}{}\n{}\n", heading, described, table.text());
    }
    return text;
}

/// The first cell that satisfies the condition, or nullptr.
template <typename Wanted> const CellResult *find(const std::vector<CellResult> &results, Wanted wanted) {
    const auto found = std::ranges::find_if(results, wanted);
    return found == results.end() ? nullptr : &*found;
}

/// The same operation and size after another synchronizer.
const CellResult *find_after(const std::vector<CellResult> &results, const Cell &cell, const char *synchronizer) {
    return find(results, [&](const CellResult &result) {
        return describe_subject(result.cell) == describe_subject(cell) && result.cell.synchronizer == synchronizer;
    });
}

/// "harmonize, pattern one_late", the heading of a block
std::string describe_arrival(const Cell &cell) {
    return fmt::format("{}, pattern {}", describe_start(cell), cell.pattern);
}

} // namespace

bool is_comparison(const std::vector<CellResult> &results) {
    return distinct(results, [](const Cell &cell) { return cell.timing; }).size() == 1 &&
           std::ranges::all_of(results, [&](const CellResult &result) {
               const std::string &name = result.cell.synchronizer;
               return result.cell.barrier_algorithm == default_algorithm && (name == barrier || name == harmonize) &&
                      find_after(results, result.cell, barrier) != nullptr &&
                      find_after(results, result.cell, harmonize) != nullptr;
           });
}

std::string table_comparison(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {
        operation,
        bytes,
        metric("after barrier", "median", "latency_avg", &Summary::median),
        metric("after barrier", "mean", "latency_avg", &Summary::mean),
        reference_metric("common start", "median", "latency_avg", &Summary::median),
        reference_metric("common start", "mean", "latency_avg", &Summary::mean),
        {{"", "ratio", ColumnKind::ratio}, // Schuchart 2023, section 6.1
         [](const CellResult &result, const CellResult *common) {
             return result.metric("latency_avg").median / common->metric("latency_avg").median;
         }},
        metric("exit skew", "barrier", "exit_skew", &Summary::median),
        reference_metric("exit skew", "common", "exit_skew", &Summary::median),
        {{"", "rej.%", ColumnKind::percent}, [](const CellResult &result, const CellResult *common) {
             return std::max(rejected_share(result), rejected_share(*common));
         }}};
    CellTable table(columns);
    for (const CellResult &result : results) {
        if (result.cell.synchronizer == barrier) {
            table.add_in_groups(result, find_after(results, result.cell, harmonize));
        }
    }
    const std::string &timing = results.front().cell.timing;
    return (timing == "per_call" ? "" : fmt::format("timing {}, times per call\n", timing)) + table.text() + "\n" +
           std::string("  latency    time in the operation [us], mean over ranks as in OSU; median and\n"
                       "             mean over samples, after mpi_barrier and with a common start\n"
                       "             (harmonize)\n"
                       "  ratio      first median / second median; 1.00: the barrier does no harm\n"
                       "  exit skew  time between the first and the last rank's start, median [us]\n"
                       "  rej.%      attempts whose synchronization failed, the larger of the two\n"
                       "             shares; each was repeated\n");
}

std::string table_details(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {operation,
                                                    bytes,
                                                    metric("latency", "median", "latency_avg", &Summary::median),
                                                    metric("latency", "mean", "latency_avg", &Summary::mean),
                                                    metric("latency", "p99", "latency_avg", &Summary::p99),
                                                    metric("latency", "slowest", "latency_max", &Summary::median),
                                                    metric("", "makespan", "makespan", &Summary::median),
                                                    metric("exit", "skew", "exit_skew", &Summary::median),
                                                    bound("makespan"),
                                                    rejected};
    return tables(columns, results, "synchronizer ", describe_start,
                  [](CellTable &table, const CellResult &result) { table.add_in_groups(result); }) +
           std::string("  latency    time in the operation [us], mean over ranks as in OSU; slowest: of\n"
                       "             the slowest rank, median\n" +
                       makespan_legend +
                       "  exit skew  time between the first and the last rank's start [us], median\n" + bound_legend +
                       rejected_legend);
}

std::string table_synchronizers(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {words("synchronizer", ColumnKind::name, describe_start),
                                                    metric("latency", "median", "latency_avg", &Summary::median),
                                                    metric("latency", "mean", "latency_avg", &Summary::mean),
                                                    metric("latency", "p99", "latency_avg", &Summary::p99),
                                                    {{"", "ratio", ColumnKind::ratio},
                                                     [](const CellResult &result, const CellResult *with_harmonize) {
                                                         return with_harmonize == nullptr
                                                                    ? std::nan("")
                                                                    : result.metric("latency_avg").median /
                                                                          with_harmonize->metric("latency_avg").median;
                                                     }},
                                                    metric("", "makespan", "makespan", &Summary::median),
                                                    metric("exit skew", "median", "exit_skew", &Summary::median),
                                                    metric("exit skew", "p99", "exit_skew", &Summary::p99),
                                                    bound("makespan"),
                                                    rejected};
    const auto add = [&](CellTable &table, const CellResult &result) {
        // Timing window is of single calls, too.
        const std::string timing = result.cell.timing == "window" ? "per_call" : result.cell.timing;
        table.add(result, find(results, [&](const CellResult &other) {
                      return describe_subject(other.cell) == describe_subject(result.cell) &&
                             other.cell.timing == timing && other.cell.synchronizer == harmonize;
                  }));
    };
    return tables(columns, results, "", describe_subject, add) +
           std::string("  latency    time in the operation [us], mean over ranks as in OSU\n"
                       "  ratio      median latency / median latency with harmonize; 1.00: the\n"
                       "             synchronizer did no harm\n" +
                       makespan_legend + "  exit skew  time between the first and the last rank's start [us]\n" +
                       bound_legend + rejected_legend);
}

std::string table_overlap(const std::vector<CellResult> &results) {
    static const auto overlap = [](const char *heading, double ComputationOverlap::*member) {
        return number("overlap", heading, ColumnKind::ratio,
                      [=](const CellResult &result) { return result.computation_overlap.*member; });
    };
    static const std::vector<CellColumn> columns = {
        operation,
        bytes,
        number("", "compute", ColumnKind::microseconds, &CellResult::computed),
        reference_metric("latency", "alone", "latency_avg", &Summary::mean),
        metric("latency", "with", "latency_avg", &Summary::mean),
        reference_metric("makespan", "alone", "makespan", &Summary::median),
        metric("makespan", "with", "makespan", &Summary::median),
        overlap("OSU", &ComputationOverlap::osu),
        overlap("IMB", &ComputationOverlap::imb),
        overlap("window", &ComputationOverlap::window),
        rejected};
    const auto add = [&](CellTable &table, const CellResult &result) {
        if (result.cell.computation > 0.0) {
            table.add_in_groups(result, find(results, [&](const CellResult &other) {
                                    return other.cell.computation == 0.0 &&
                                           same_but_for_computation(other.cell, result.cell);
                                }));
        }
    };
    return tables(columns, results, "synchronizer ", describe_start, add) +
           std::string("  compute    computation between call and wait, mean over samples and ranks [us]\n"
                       "  latency    from call to the end of the wait, mean over samples and ranks,\n"
                       "             alone and with computation [us]\n"
                       "  makespan   from the common start to the last exit, median, alone and with\n"
                       "             computation [us]\n"
                       "  OSU        1 - (with - compute) / alone, not below 0, of latency: the overlap\n"
                       "             as osu_i* define it\n"
                       "  IMB        (alone + compute - with) / the shorter of alone and compute, from 0\n"
                       "             to 1, of latency, as IMB-NBC\n"
                       "  window     the same of makespan, not cut off: 1 where the shorter of the two\n"
                       "             is hidden completely\n" +
                       rejected_legend);
}

std::string table_arrival(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {
        operation,
        bytes,
        number("", "delay", ColumnKind::microseconds, [](const CellResult &result) { return result.cell.delay; }),
        metric("imbalance", "worst", "imbalance_worst", &Summary::median),
        metric("imbalance", "mean", "imbalance_mean", &Summary::median),
        metric("global", "time", "global_time", &Summary::median),
        metric("after", "last", "after_last_entry", &Summary::median),
        number("", "benefit", ColumnKind::ratio,
               [](const CellResult &result) { return result.overlap_median.benefit; }),
        number("", "hidden", ColumnKind::ratio, [](const CellResult &result) { return result.overlap_median.share; }),
        bound("global_time"),
        rejected};
    std::vector<CellResult> delayed;
    std::ranges::copy_if(results, std::back_inserter(delayed),
                         [](const CellResult &result) { return result.cell.pattern != no_pattern; });
    std::string text;
    for (const std::string &arrival : distinct(delayed, describe_arrival)) {
        CellTable table(columns);
        std::string subject; // of the rows before
        bool has_deadline = true;
        for (const CellResult &result : delayed) {
            if (describe_arrival(result.cell) != arrival) {
                continue;
            }
            if (subject != describe_subject(result.cell)) {
                if (!subject.empty()) {
                    table.add_gap();
                }
                subject = describe_subject(result.cell);
                table.add(*find(results, [&](const CellResult &other) { // there is one for every pattern
                    return other.cell.pattern == no_pattern && same_but_for_arrival(other.cell, result.cell);
                }));
            }
            table.add(result);
            has_deadline = result.has_deadline;
        }
        text += fmt::format(
            "synchronizer {}\n{}{}\n", arrival, table.text(),
            has_deadline ? "" : "this synchronizer has no deadline to delay: a loop after it makes the delays\n");
    }
    return text + std::string("  delay        the largest of the pattern, as requested [us]\n"
                              "  imbalance    of the entries as they were, medians [us]; worst: first to last;\n"
                              "               mean: mean distance from the mean (Faraj 2007)\n"
                              "  global time  from the first entry to the last exit [us], median (t_global,\n"
                              "               Niethammer 2016, Eq. 4)\n"
                              "  after last   from the last entry to the last exit [us], median\n"
                              "  benefit      (t0 + delay - t) / t (Eq. 5), of medians; t0, t: global time\n"
                              "               without and with delay; t - delay is after last\n"
                              "  hidden       (t0 + delay - t) / the shorter of t0 and delay; 1: hidden\n"
                              "               completely\n"
                              "  +-           the most that the clock's error can add to these times, or take\n"
                              "               away [us]\n"
                              "  rej.%        attempts whose synchronization failed; each was repeated\n");
}

} // namespace bench
