// The table of the cells of a run on standard output (--format table). Its columns depend on what varies between the
// cells. If only the synchronizer varies and its values are mpi_barrier and harmonize, both are side by side in a row.
#include "output/sink.h"
#include "output/table.h"
#include "rules/arrival_pattern.h"
#include "rules/metric.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace bench {

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

/// A row of the table: a cell, and the cell that it is compared with; null without such a cell.
struct Row {
    const CellResult &result;
    const CellResult *reference;
};

/// A column with a function that computes its entry in a row.
struct CellColumn : Column {
    std::function<ColumnEntry(const Row &)> value;
};

/// The column of the cell field `name`.
CellColumn field(const char *name) {
    const CellField &described = find_by_name(cell_columns(), name);
    return {column_of(described),
            [&described](const Row &row) { return entry_of(value_of(described, row.result), described); }};
}

/// The column of the cell field `name` with another heading; `of_reference`: for the reference instead of the cell.
CellColumn field(const char *group, const char *heading, const char *name, bool of_reference = false) {
    CellColumn column = field(name);
    column.group = group;
    column.heading = heading;
    if (of_reference) {
        column.value = [value = column.value](const Row &row) { return value({*row.reference, nullptr}); };
    }
    return column;
}

/// A column with a text that describes the cell.
CellColumn words(const char *heading, ColumnKind kind, std::string (*describe)(const Cell &)) {
    return {{"", heading, kind}, [=](const Row &row) { return describe(row.result.cell); }};
}

// Schuchart 2023, section 6.1
const CellColumn ratio = {
    {"", "ratio", ColumnKind::ratio, "median latency / median latency from the common start of harmonize"},
    [](const Row &row) -> ColumnEntry {
        return row.reference == nullptr
                   ? std::nan("")
                   : row.result.metric("latency_avg").median / row.reference->metric("latency_avg").median;
    }};

/// Share of rejected samples; `with_reference`: the larger share of cell and reference.
CellColumn rejected(bool with_reference) {
    return {{"", "rej.%", ColumnKind::percent, "attempts whose synchronization failed; each was repeated"},
            [=](const Row &row) {
                const double share = row.result.rejected_share();
                return with_reference ? std::max(share, row.reference->rejected_share()) : share;
            }};
}

/// The columns with numbers. `delayed`: cells have arrival patterns; `computing`: cells have computation.
std::vector<CellColumn> measures(const std::vector<CellResult> &results, bool delayed, bool computing) {
    std::vector<CellColumn> columns;
    const auto add = [&](const std::vector<CellColumn> &more) {
        columns.insert(columns.end(), more.begin(), more.end());
    };
    if (computing) {
        add({field("computed"), field("latency_avg_mean"), field("makespan_median"), field("overlap_osu"),
             field("overlap_imb"), field("overlap_window")});
    }
    if (delayed) {
        add({field("largest_delay"), field("imbalance_worst_median"), field("imbalance_mean_median"),
             field("global_time_median"), field("after_last_entry_median"), field("overlap_benefit_median"),
             field("overlap_share_median"), field("error_bound")});
    }
    if (columns.empty()) {
        add({field("latency_avg_median"), field("latency_avg_mean")});
        const std::vector<CellColumn> ends = {field("makespan_median"), field("exit", "skew", "exit_skew_median")};
        if (distinct(results, describe_start).size() > 1) {
            add(ends);
            add({ratio});
        } else {
            add({field("latency_avg_p99"), field("latency_max_median")});
            add(ends);
        }
    }
    columns.push_back(rejected(false));
    return columns;
}

/// The columns with numbers if a row has a cell after MPI_Barrier and, as its reference, the cell after harmonize.
std::vector<CellColumn> side_by_side() {
    return {field("after barrier", "median", "latency_avg_median"),
            field("after barrier", "mean", "latency_avg_mean"),
            field("common start", "median", "latency_avg_median", true),
            field("common start", "mean", "latency_avg_mean", true),
            ratio,
            field("exit skew", "barrier", "exit_skew_median"),
            field("exit skew", "common", "exit_skew_median", true),
            rejected(true)};
}

/// The cell with the same operation, size, timing and arrival pattern after harmonize; null without such a cell.
const CellResult *find_reference(const std::vector<CellResult> &results, const Cell &cell) {
    // Timing scheme window times single calls, too.
    const std::string timing = cell.timing == "window" ? "per_call" : cell.timing;
    const auto match = std::ranges::find_if(results, [&](const CellResult &candidate) {
        const Cell &reference = candidate.cell;
        return describe_operation(reference) == describe_operation(cell) && reference.size == cell.size &&
               reference.pattern == cell.pattern && reference.delay == cell.delay && reference.timing == timing &&
               reference.synchronizer == harmonize;
    });
    return match == results.end() ? nullptr : &*match;
}

/// The rows and the legend. Appends to `head` the properties that all cells share.
std::string cell_rows(const std::vector<CellResult> &results, std::string &head) {
    const bool delayed = distinct(results, [](const Cell &cell) { return cell.pattern; }).size() > 1;
    const bool computing =
        std::ranges::any_of(results, [](const CellResult &result) { return result.cell.computation > 0.0; });
    const std::vector<std::string> starts = distinct(results, describe_start);
    const bool pairs = // rows show a cell after MPI_Barrier and the same cell after harmonize side by side
        !delayed && !computing && starts.size() == 2 && contains(distinct(results, describe_synchronizer), barrier) &&
        std::ranges::all_of(results,
                            [&](const CellResult &result) { return find_reference(results, result.cell) != nullptr; });
    std::vector<CellColumn> columns = {words("operation", ColumnKind::name, describe_operation),
                                       words("bytes", ColumnKind::text, size_text)};
    // Adds a column if the text varies, i.e. has more than `max_constant` values; else a line above the table.
    const auto vary = [&](const char *heading, std::string (*describe)(const Cell &), std::size_t max_constant) {
        const std::vector<std::string> texts = distinct(results, describe);
        if (texts.size() > max_constant) {
            columns.push_back(words(heading, ColumnKind::name, describe));
        } else if (texts.back() != no_pattern) {
            head += line_above(heading, texts.back());
        }
    };
    if (pairs) {
        const std::string &timing = results.front().cell.timing;
        head += timing == "per_call" ? "" : line_above("timing", timing + ", times per call");
    } else {
        vary("synchronizer", describe_start, 1);
        vary(
            "pattern", [](const Cell &cell) { return cell.pattern; }, 2); // a single pattern and "none", its reference
    }
    const std::size_t keys = columns.size(); // columns that name the cell
    for (CellColumn &column : pairs ? side_by_side() : measures(results, delayed, computing)) {
        columns.push_back(std::move(column));
    }
    ColumnTable table({columns.begin(), columns.end()}, keys);
    std::string last; // operation of the row before
    for (const CellResult &result : results) {
        if (pairs && result.cell.synchronizer == harmonize) {
            continue;
        }
        if (!last.empty() && last != result.cell.operation) {
            table.add_gap();
        }
        last = result.cell.operation;
        const Row row{result, find_reference(results, result.cell)};
        table.add(mapped(columns, [&](const CellColumn &column) { return column.value(row); }));
    }
    return table.text() + "\n" + legend_of({columns.begin(), columns.end()});
}

/// A line above the table with the different texts of the cells, each with its operations: "of the message (bcast,
/// ibcast); ...".
std::string by_operation(const std::vector<CellResult> &results, const char *name,
                         std::string (*describe)(const Cell &)) {
    std::vector<std::string> texts;
    for (const std::string &text : distinct(results, describe)) {
        std::vector<std::string> operations;
        for (const CellResult &result : results) {
            const std::string operation = result.cell.operation.substr(0, result.cell.operation.find('('));
            if (describe(result.cell) == text && !contains(operations, operation)) {
                operations.push_back(operation);
            }
        }
        if (!text.empty() && text != "none") {
            texts.push_back(fmt::format("{} ({})", text, join(operations)));
        }
    }
    return texts.empty() ? "" : line_above(name, join(texts, "; "));
}

/// The lines below the table: cells that are not ok, the number of validated calls, operations that were not validated.
std::string cell_notes(const std::vector<CellResult> &results) {
    std::string text;
    long calls = 0;
    std::vector<std::string> unchecked;
    for (const CellResult &result : results) {
        if (result.status != CellStatus::ok) {
            text += fmt::format("{}: {}: {}\n", to_string(result.status), describe_cell(result.cell),
                                describe_shortfall(result));
        }
        calls += result.validated;
        const std::string name = describe_operation(result.cell);
        if (result.validated == 0 && !contains(unchecked, name)) {
            unchecked.push_back(name);
        }
    }
    return text + (calls == 0 ? ""
                              : fmt::format("\nvalidated: {} calls{}\n", calls,
                                            unchecked.empty() ? "" : "; not checked: " + join(unchecked)));
}

} // namespace

std::string cells_table(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end) {
    ContextValues run = sampling_values(context);
    std::erase_if(run, [](const auto &value) { return value.first == "algorithms"; });
    run.emplace_back("seed", context.seed);
    const std::string chosen = join(split(describe_algorithms(context), '\n'), "; ");
    std::string head = table_head(context) + clock_lines(context, *end.agreement) +
                       line_of_values("run", run, context_attributes()) +
                       (chosen.empty() ? "" : line_above("algorithms", chosen)) +
                       by_operation(results, "bytes", [](const Cell &cell) { return cell.size_meaning; }) +
                       by_operation(results, "datatype", [](const Cell &cell) { return cell.datatype; });
    const std::string rows = cell_rows(results, head);
    return head + "\n" + rows + cell_notes(results) + closing_lines(end, context.outputs);
}

} // namespace bench
