#include "output/sink.h"
#include "output/table.h"
#include "rules/arrival_pattern.h"
#include "rules/metric.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>

namespace bench {

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

/// A cell and the one that it is compared with, if any.
struct Compared {
    const CellResult &result;
    const CellResult *reference = nullptr;
};

using CellColumn = ColumnOf<Compared>;

CellColumn column(Column place, std::function<ColumnEntry(const CellResult &)> value) {
    return {std::move(place), [value](const Compared &row) { return value(row.result); }};
}

/// A field of the cell by its name.
CellColumn shown(const char *name) {
    const ColumnOf<CellResult> found = column_of<CellResult>(find_by_name(cell_columns(), name));
    return column(found, found.value);
}

/// The same in a group of its own, of the cell or of the reference.
CellColumn shown(const char *group, const char *heading, const char *name, bool of_reference = false) {
    const ColumnOf<CellResult> found = column_of<CellResult>(find_by_name(cell_columns(), name));
    return {{group, heading, found.kind, found.legend},
            [=](const Compared &row) { return found.value(of_reference ? *row.reference : row.result); }};
}

CellColumn bound(const char *metric) {
    return column(
        {"", "+-", ColumnKind::microseconds, "the most that the clock's error adds to such a time, or takes away"},
        [=](const CellResult &result) {
            return result.valid > 0 ? find_by_name(all_metrics(), metric).traits.bounds * result.error_bound
                                    : std::nan("");
        });
}

CellColumn words(const char *heading, ColumnKind kind, std::string (*describe)(const Cell &)) {
    return column({"", heading, kind}, [=](const CellResult &result) { return describe(result.cell); });
}

/// The median latency as a multiple of the reference's, or the other way round.
CellColumn ratio(const char *legend) { // Schuchart 2023, section 6.1
    return {{"", "ratio", ColumnKind::ratio, legend}, [](const Compared &row) -> ColumnEntry {
                return row.reference == nullptr
                           ? std::nan("")
                           : row.result.metric("latency_avg").median / row.reference->metric("latency_avg").median;
            }};
}

const CellColumn operation = words("operation", ColumnKind::name, describe_operation);
const CellColumn bytes = words("bytes", ColumnKind::text, size_text);
const CellColumn rejected = {
    {"", "rej.%", ColumnKind::percent, "attempts whose synchronization failed; each was repeated"},
    [](const Compared &row) -> ColumnEntry {
        const double share = rejected_share(row.result);
        return row.reference == nullptr ? share : std::max(share, rejected_share(*row.reference));
    }};

/// Rows of cells, with an empty line where another operation begins.
std::string rows(const std::vector<CellColumn> &columns, const std::vector<Compared> &cells, bool groups) {
    ColumnTable table({columns.begin(), columns.end()});
    std::string last;
    for (const Compared &row : cells) {
        const std::string name = describe_operation(row.result.cell);
        if (groups && !last.empty() && last != name) {
            table.add_gap();
        }
        last = name;
        table.add(mapped(columns, [&](const CellColumn &column) { return column.value(row); }));
    }
    return table.text();
}

/// A table for each text of the cells, below a line with it; then what the columns mean.
template <typename Find>
std::string tables(const std::vector<CellColumn> &columns, const std::vector<CellResult> &results, const char *heading,
                   std::string (*describe)(const Cell &), bool groups, Find find_reference) {
    std::string text;
    for (const std::string &described : distinct(results, describe)) {
        std::vector<Compared> cells;
        for (const CellResult &result : results) {
            if (describe(result.cell) == described) {
                cells.push_back({result, find_reference(result)});
            }
        }
        text += fmt::format("{}{}\n{}\n", heading, described, rows(columns, cells, groups));
    }
    return text + legend_of(columns);
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

std::vector<CellResult> chosen(const std::vector<CellResult> &results, bool (*wanted)(const Cell &)) {
    std::vector<CellResult> selected;
    std::ranges::copy_if(results, std::back_inserter(selected), wanted, &CellResult::cell);
    return selected;
}

/// Whether just MPI_Barrier and MPIX_Harmonize vary.
bool is_comparison(const std::vector<CellResult> &results) {
    return distinct(results, [](const Cell &cell) { return cell.timing; }).size() == 1 &&
           std::ranges::all_of(results, [&](const CellResult &result) {
               const std::string &name = result.cell.synchronizer;
               return result.cell.barrier_algorithm == default_algorithm && (name == barrier || name == harmonize) &&
                      find_after(results, result.cell, barrier) != nullptr &&
                      find_after(results, result.cell, harmonize) != nullptr;
           });
}

/// MPI_Barrier beside MPIX_Harmonize, one row per operation and size.
std::string compare_starts(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {
        operation,
        bytes,
        shown("after barrier", "median", "latency_avg_median"),
        shown("after barrier", "mean", "latency_avg_mean"),
        shown("common start", "median", "latency_avg_median", true),
        shown("common start", "mean", "latency_avg_mean", true),
        ratio("first median / second median; 1.00: the barrier does no harm"),
        shown("exit skew", "barrier", "exit_skew_median"),
        shown("exit skew", "common", "exit_skew_median", true),
        rejected};
    std::vector<Compared> cells;
    for (const CellResult &result : results) {
        if (result.cell.synchronizer == barrier) {
            cells.push_back({result, find_after(results, result.cell, harmonize)});
        }
    }
    const std::string &timing = results.front().cell.timing;
    return (timing == "per_call" ? "" : fmt::format("timing {}, times per call\n", timing)) +
           rows(columns, cells, true) + "\n" + legend_of(columns);
}

/// Rows are operations and sizes, or synchronizers, whichever are more.
std::string rows_of_subjects(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {operation,
                                                    bytes,
                                                    shown("latency_avg_median"),
                                                    shown("latency_avg_mean"),
                                                    shown("latency_avg_p99"),
                                                    shown("latency_max_median"),
                                                    shown("makespan_median"),
                                                    shown("exit", "skew", "exit_skew_median"),
                                                    bound("makespan"),
                                                    rejected};
    return tables(columns, results, "synchronizer ", describe_start, true,
                  [](const CellResult &) -> const CellResult * { return nullptr; });
}

std::string rows_of_synchronizers(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {
        words("synchronizer", ColumnKind::name, describe_start),
        shown("latency_avg_median"),
        shown("latency_avg_mean"),
        shown("latency_avg_p99"),
        ratio("median latency / median latency with harmonize; 1.00: the synchronizer does no harm"),
        shown("makespan_median"),
        shown("exit_skew_median"),
        shown("exit_skew_p99"),
        bound("makespan"),
        column(rejected, [](const CellResult &result) -> ColumnEntry { return rejected_share(result); })};
    return tables(columns, results, "", describe_subject, false, [&](const CellResult &result) {
        // Timing window is of single calls, too.
        const std::string timing = result.cell.timing == "window" ? "per_call" : result.cell.timing;
        return find(results, [&](const CellResult &other) {
            return describe_subject(other.cell) == describe_subject(result.cell) && other.cell.timing == timing &&
                   other.cell.synchronizer == harmonize;
        });
    });
}

/// How computation overlaps with nonblocking operations.
std::string overlap_with_computation(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {
        operation,
        bytes,
        shown("computed"),
        shown("latency", "alone", "latency_avg_mean", true),
        shown("latency", "with", "latency_avg_mean"),
        shown("makespan", "alone", "makespan_median", true),
        shown("makespan", "with", "makespan_median"),
        shown("overlap_osu"),
        shown("overlap_imb"),
        shown("overlap_window"),
        column(rejected, [](const CellResult &result) -> ColumnEntry { return rejected_share(result); })};
    const std::vector<CellResult> computing = chosen(results, [](const Cell &cell) { return cell.computation > 0.0; });
    return tables(columns, computing, "synchronizer ", describe_start, true, [&](const CellResult &result) {
        return find(results, [&](const CellResult &other) {
            return other.cell.computation == 0.0 && same_but_for_computation(other.cell, result.cell);
        });
    });
}

/// The cost of delays, with the cells without delay.
std::string cost_of_delays(const std::vector<CellResult> &results) {
    static const std::vector<CellColumn> columns = {operation,
                                                    bytes,
                                                    shown("largest_delay"),
                                                    shown("imbalance_worst_median"),
                                                    shown("imbalance_mean_median"),
                                                    shown("global_time_median"),
                                                    shown("after_last_entry_median"),
                                                    shown("overlap_benefit_median"),
                                                    shown("overlap_share_median"),
                                                    bound("global_time"),
                                                    rejected};
    const std::vector<CellResult> delayed =
        chosen(results, [](const Cell &cell) { return cell.pattern != no_pattern; });
    std::string text;
    for (const std::string &arrival : distinct(delayed, describe_arrival)) {
        std::vector<Compared> cells;
        bool has_deadline = true;
        for (const CellResult &result : delayed) {
            if (describe_arrival(result.cell) != arrival) {
                continue;
            }
            if (cells.empty() || describe_subject(cells.back().result.cell) != describe_subject(result.cell)) {
                cells.push_back({*find(results, [&](const CellResult &other) { // there is one for every pattern
                    return other.cell.pattern == no_pattern && same_but_for_arrival(other.cell, result.cell);
                })});
            }
            cells.push_back({result});
            has_deadline = result.has_deadline;
        }
        text += fmt::format(
            "synchronizer {}\n{}{}\n", arrival, rows(columns, cells, true),
            has_deadline ? "" : "this synchronizer has no deadline to delay: a loop after it makes the delays\n");
    }
    return text + legend_of(columns);
}

std::string unmeasured(const std::vector<CellResult> &results) {
    std::string text;
    for (const CellResult &result : results) {
        if (result.status != CellStatus::ok) {
            text += fmt::format("{}: {}: {}\n", to_string(result.status), describe_cell(result.cell),
                                describe_shortfall(result));
        }
    }
    return text;
}

/// How many calls were validated, and which operations were not.
std::string validated(const std::vector<CellResult> &results) {
    long calls = 0;
    std::vector<std::string> without;
    for (const CellResult &result : results) {
        calls += result.validated;
        const std::string name = describe_subject(result.cell);
        if (result.validated == 0 && !contains(without, name)) {
            without.push_back(name);
        }
    }
    return calls == 0 ? ""
                      : fmt::format("\nvalidated: {} calls{}\n", calls,
                                    without.empty() ? "" : "; not checked: " + join(without));
}

} // namespace

std::string cells_table(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end) {
    const std::vector<CellResult> undelayed =
        chosen(results, [](const Cell &cell) { return cell.pattern == no_pattern; });
    const std::vector<CellResult> plain = chosen(undelayed, [](const Cell &cell) { return cell.computation == 0.0; });
    const bool many = distinct(plain, describe_start).size() > distinct(plain, describe_subject).size();
    std::string text = table_context(context, *end.agreement) + size_lines(results) + "\n" +
                       (is_comparison(plain) ? compare_starts(plain)
                        : many               ? rows_of_synchronizers(plain)
                                             : rows_of_subjects(plain));
    if (plain.size() < undelayed.size()) {
        text += "\n" + overlap_with_computation(undelayed);
    }
    if (undelayed.size() < results.size()) {
        text += "\n" + cost_of_delays(results);
    }
    return text + unmeasured(results) + validated(results) + closing_lines(end.warnings, context.outputs);
}

} // namespace bench
