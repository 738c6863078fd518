#include "metrics/metric.h"
#include "output/output.h"
#include "output/reporters/reporter_registry.h"
#include "output/table/sections.h"
#include "patterns/arrival_pattern.h"
#include "text/names.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace bench {

namespace {

/// Rows are operations and sizes, or synchronizers, whichever are more.
std::string table_undelayed(const std::vector<CellResult> &results) {
    if (is_comparison(results)) {
        return table_comparison(results);
    }
    const bool many = distinct(results, describe_start).size() > distinct(results, describe_subject).size();
    return many ? table_synchronizers(results) : table_details(results);
}

bool is_undelayed(const Cell &cell) { return cell.pattern == no_pattern; }
bool is_plain(const Cell &cell) { return is_undelayed(cell) && cell.computation == 0.0; }
bool computes(const CellResult &result) { return result.cell.computation > 0.0; }

/// The table on standard output, at the end of the run.
class TableReporter : public Reporter {
public:
    explicit TableReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override { context_ = context; }

    void cell(const CellResult &result) override { results_.push_back(result); }

    void end(const RunEnd &end) override {
        std::sort(results_.begin(), results_.end(),
                  [](const CellResult &a, const CellResult &b) { return a.index < b.index; });
        const auto select = [&](bool (*wanted)(const Cell &)) {
            std::vector<CellResult> selected;
            std::copy_if(results_.begin(), results_.end(), std::back_inserter(selected),
                         [&](const CellResult &result) { return wanted(result.cell); });
            return selected;
        };
        std::string text =
            table_context(context_, end.agreement) + size_lines(results_) + "\n" + table_undelayed(select(is_plain));
        const std::vector<CellResult> undelayed = select(is_undelayed);
        if (std::any_of(undelayed.begin(), undelayed.end(), computes)) {
            text += "\n" + table_overlap(undelayed);
        }
        if (undelayed.size() < results_.size()) {
            text += "\n" + table_arrival(results_);
        }
        output_.finish(text + unmeasured() + validated() + closing_lines(end.warnings, context_.outputs));
    }

    void findings(const Context &context, const Findings &found) override {
        output_.finish(table_machine(context) + found.table + closing_lines(found.warnings, context.outputs));
    }

private:
    std::string unmeasured() const {
        std::string text;
        for (const CellResult &result : results_) {
            if (result.status != CellStatus::ok) {
                text += fmt::format("{}: {}: {}\n", to_string(result.status), describe(result.cell),
                                    describe_shortfall(result));
            }
        }
        return text;
    }

    /// How many calls were validated, and which operations were not.
    std::string validated() const {
        long calls = 0;
        std::vector<std::string> without;
        for (const CellResult &result : results_) {
            calls += result.validated;
            const std::string name = describe_subject(result.cell);
            if (result.validated == 0 && std::find(without.begin(), without.end(), name) == without.end()) {
                without.push_back(name);
            }
        }
        if (calls == 0) {
            return "";
        }
        return fmt::format("\nvalidated: {} calls{}\n", calls,
                           without.empty() ? "" : "; not checked: " + join(without));
    }

    Output output_;
    SamplingContext context_;
    std::vector<CellResult> results_;
};

} // namespace

ReporterInfo reporters::table() {
    return {.name = "table",
            .description = "medians in microseconds, on standard output only",
            .on_stdout = true,
            .shows_warnings = true,
            .make = make_reporter<TableReporter>};
}

} // namespace bench
