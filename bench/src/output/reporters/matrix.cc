#include "output/reporters/reporter_registry.h"
#include "output/table/columns.h"
#include "output/table/sections.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *harmonize = "harmonize";

constexpr const char *legend = "  latency    time in the operation [us], mean over ranks as in OSU; median over\n"
                               "             samples\n"
                               "  min, max   of the row, without harmonize\n"
                               "  ratio      max / min: what the choice of a barrier does to the figure\n";

/// How a cell is synchronized: the synchronizer with what belongs to it, and the algorithm of its MPI_Barrier.
struct Start {
    std::string name;
    std::string algorithm;

    bool operator==(const Start &) const = default;
};

Start start_of(const Cell &cell) {
    Cell plain = cell;
    plain.barrier_algorithm = default_algorithm;
    const std::string pattern =
        cell.pattern == "none" ? "" : fmt::format(", {} {:g} us", cell.pattern, cell.delay * 1e6);
    return {describe_start(plain) + pattern, cell.barrier_algorithm};
}

/// Operations in rows, synchronizers in columns, as Schuchart 2023, Fig. 2. Columns that do not fit side by side follow
/// below.
class Matrix {
public:
    explicit Matrix(const std::vector<CellResult> &results) : results_(results) {
        for (const CellResult &result : results) {
            if (!contains(starts_, start_of(result.cell))) {
                starts_.push_back(start_of(result.cell));
            }
        }
    }

    std::string text() const {
        std::string text = legend;
        const std::size_t all = starts_.size() + 1; // the last is the summary of a row
        for (std::size_t first = 0; first < all;) {
            std::size_t end = first + 1;
            while (end < all && fits(table(first, end + 1))) {
                ++end;
            }
            text += "\n" + table(first, end);
            first = end;
        }
        return text;
    }

private:
    /// With some of the columns.
    std::string table(std::size_t first, std::size_t end) const {
        std::vector<Column> columns = {{"", "operation", ColumnKind::name}, {"", "bytes", ColumnKind::text}};
        for (std::size_t i = first; i < std::min(end, starts_.size()); ++i) {
            const Start &start = starts_[i];
            const bool chosen = std::ranges::any_of(starts_, [&](const Start &other) {
                return other.name == start.name && other.algorithm != default_algorithm;
            });
            columns.push_back(
                {chosen ? start.name : "", chosen ? start.algorithm : start.name, ColumnKind::microseconds});
        }
        if (end > starts_.size()) {
            columns.push_back({"", "min", ColumnKind::microseconds});
            columns.push_back({"", "max", ColumnKind::microseconds});
            columns.push_back({"", "ratio", ColumnKind::ratio});
        }
        ColumnTable table(columns);
        for (const std::string &subject : distinct(results_, describe_subject)) {
            table.add(row(subject, first, end));
        }
        return table.text();
    }

    std::vector<ColumnEntry> row(const std::string &subject, std::size_t first, std::size_t end) const {
        std::vector<ColumnEntry> latencies(starts_.size(), std::nan(""));
        double smallest = std::nan("");
        double largest = std::nan("");
        std::vector<ColumnEntry> row;
        for (const CellResult &result : results_) {
            if (describe_subject(result.cell) != subject) {
                continue;
            }
            if (row.empty()) {
                row = {describe_operation(result.cell), size_text(result.cell)};
            }
            const double latency = result.metric("latency_avg").median;
            const auto start = std::ranges::find(starts_, start_of(result.cell));
            latencies[static_cast<std::size_t>(start - starts_.begin())] = latency;
            if (result.cell.synchronizer != harmonize) {
                smallest = std::fmin(smallest, latency); // fmin and fmax ignore NaN
                largest = std::fmax(largest, latency);
            }
        }
        const auto at = [&](std::size_t i) { return latencies.begin() + static_cast<std::ptrdiff_t>(i); };
        row.insert(row.end(), at(first), at(std::min(end, starts_.size())));
        if (end > starts_.size()) {
            row.insert(row.end(), {smallest, largest, largest / smallest});
        }
        return row;
    }

    static bool fits(const std::string &table) {
        const std::vector<std::string> lines = split(table, '\n');
        return std::ranges::all_of(lines, [](const std::string &line) { return line.size() <= terminal_width; });
    }

    const std::vector<CellResult> &results_;
    std::vector<Start> starts_;
};

class MatrixReporter : public ClosingReporter {
public:
    using ClosingReporter::ClosingReporter;

private:
    std::string text(const RunEnd &end) const override {
        return table_context(context(), end.agreement) + "\n" + Matrix(results()).text() + closing_lines(end.warnings);
    }
};

} // namespace

ReporterInfo reporters::matrix() {
    return {.name = "matrix",
            .description =
                "latencies, what was measured in rows, how it was synchronized in columns, standard output only",
            .on_stdout = true,
            .shows_warnings = true,
            .of_cells_alone = true,
            .make = Make<MatrixReporter>{}};
}

} // namespace bench
