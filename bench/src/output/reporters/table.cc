#include "metrics/metric.h"
#include "output/reporters/reporter_registry.h"
#include "output/table/sections.h"
#include "patterns/arrival_pattern.h"

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
class TableReporter : public ClosingReporter {
public:
    using ClosingReporter::ClosingReporter;

    void findings(const Context &context, const Findings &found) override {
        output().finish(table_machine(context) + found.table + closing_lines(found.warnings, context.outputs));
    }

private:
    std::string text(const RunEnd &end) const override {
        const auto select = [&](bool (*wanted)(const Cell &)) {
            std::vector<CellResult> selected;
            std::ranges::copy_if(results(), std::back_inserter(selected), wanted, &CellResult::cell);
            return selected;
        };
        std::string text =
            table_context(context(), end.agreement) + size_lines(results()) + "\n" + table_undelayed(select(is_plain));
        const std::vector<CellResult> undelayed = select(is_undelayed);
        if (std::ranges::any_of(undelayed, computes)) {
            text += "\n" + table_overlap(undelayed);
        }
        if (undelayed.size() < results().size()) {
            text += "\n" + table_arrival(results());
        }
        return text + unmeasured() + validated() + closing_lines(end.warnings, context().outputs);
    }

    std::string unmeasured() const {
        std::string text;
        for (const CellResult &result : results()) {
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
        for (const CellResult &result : results()) {
            calls += result.validated;
            const std::string name = describe_subject(result.cell);
            if (result.validated == 0 && !contains(without, name)) {
                without.push_back(name);
            }
        }
        if (calls == 0) {
            return "";
        }
        return fmt::format("\nvalidated: {} calls{}\n", calls,
                           without.empty() ? "" : "; not checked: " + join(without));
    }
};

} // namespace

ReporterInfo reporters::table() {
    return {.name = "table",
            .description = "medians in microseconds, on standard output only",
            .on_stdout = true,
            .shows_warnings = true,
            .make = Make<TableReporter>{}};
}

} // namespace bench
