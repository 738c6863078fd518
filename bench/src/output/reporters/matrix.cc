#include "output/reporters/reporter_registry.h"
#include "output/table/sections.h"
#include "output/text_output.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr std::size_t narrowest = 9;
constexpr const char *harmonize = "harmonize";

constexpr const char *legend =
    "  latency    time in the operation, mean over ranks (as OSU), median over samples [us]\n"
    "  smallest, largest, ratio\n"
    "             of the row, but for harmonize: what the choice of a barrier does to the figure\n";

/// The two lines at the head of a column: the synchronizer with what belongs to it, and the algorithm of its
/// MPI_Barrier.
struct Column {
    std::string name;
    std::string algorithm; // "" for the default

    bool operator==(const Column &) const = default;
    int width() const { return static_cast<int>(std::max({name.size(), algorithm.size(), narrowest})); }
};

Column column_of(const Cell &cell) {
    Cell plain = cell;
    plain.barrier_algorithm = default_algorithm;
    const std::string pattern =
        cell.pattern == "none" ? "" : fmt::format(", {} {:g} us", cell.pattern, cell.delay * 1e6);
    return {describe_start(plain) + pattern, cell.barrier_algorithm == default_algorithm ? "" : cell.barrier_algorithm};
}

std::vector<Column> columns_of(const std::vector<CellResult> &results) {
    std::vector<Column> columns;
    for (const CellResult &result : results) {
        if (std::find(columns.begin(), columns.end(), column_of(result.cell)) == columns.end()) {
            columns.push_back(column_of(result.cell));
        }
    }
    return columns;
}

/// What was measured in the rows, how it was synchronized in the columns, as Schuchart 2023, Fig. 2.
std::string matrix(const std::vector<CellResult> &results) {
    const std::vector<std::string> rows = distinct(results, describe_subject);
    const std::vector<Column> columns = columns_of(results);
    std::size_t first = 0;
    for (const std::string &row : rows) {
        first = std::max(first, row.size());
    }
    std::string text = fmt::format("{}\n{:{}}", legend, "", first);
    for (const Column &column : columns) {
        text += fmt::format("  {:>{}}", column.name, column.width());
    }
    text += fmt::format("\n{:{}}", "", first);
    for (const Column &column : columns) {
        text += fmt::format("  {:>{}}", column.algorithm, column.width());
    }
    text += fmt::format("  {:>{}}  {:>{}}  ratio\n", "smallest", narrowest, "largest", narrowest);
    for (const std::string &row : rows) {
        text += fmt::format("{:<{}}", row, first);
        double smallest = std::nan("");
        double largest = std::nan("");
        for (const Column &column : columns) {
            const auto found = std::find_if(results.begin(), results.end(), [&](const CellResult &result) {
                return describe_subject(result.cell) == row && column_of(result.cell) == column;
            });
            const double value = found == results.end() ? std::nan("") : found->metric("latency_avg").median;
            if (found != results.end() && found->cell.synchronizer != harmonize) {
                smallest = std::fmin(smallest, value); // either is the number where the other is none
                largest = std::fmax(largest, value);
            }
            text += "  " + microseconds(value, column.width(), 2);
        }
        text += fmt::format("  {}  {}  {}\n", microseconds(smallest, narrowest, 2), microseconds(largest, narrowest, 2),
                            ratio(largest / smallest, 5));
    }
    return text;
}

class MatrixReporter : public Reporter {
public:
    explicit MatrixReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override { context_ = context; }

    void cell(const CellResult &result) override { results_.push_back(result); }

    void end(const RunEnd &end) override {
        std::sort(results_.begin(), results_.end(),
                  [](const CellResult &a, const CellResult &b) { return a.index < b.index; });
        std::string text = table_context(context_, end.agreement) + "\n" + matrix(results_) + "\n";
        for (const std::string &warning : end.warnings) {
            text += fmt::format("warning: {}\n", warning);
        }
        output_.write(text);
    }

private:
    TextOutput output_;
    SamplingContext context_;
    std::vector<CellResult> results_;
};

} // namespace

ReporterInfo reporters::matrix() {
    return {.name = "matrix",
            .description =
                "latencies, what was measured in rows, how it was synchronized in columns, standard output only",
            .suffix = "",
            .on_stdout = true,
            .shows_warnings = true,
            .is_trace = false,
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<MatrixReporter>(path);
            },
            .of_cells_alone = true};
}

} // namespace bench
