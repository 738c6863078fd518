#include "reporter_registry.h"
#include "reporters/table_parts.h"
#include "text_output.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {

std::string microseconds(double seconds, int width, int decimals) {
    return std::isnan(seconds) ? fmt::format("{:>{}}", "-", width)
                               : fmt::format("{:{}.{}f}", seconds * 1e6, width, decimals);
}

std::string rejected_share(const CellResult &result) {
    const auto attempts = static_cast<double>(result.valid + result.rejected());
    return fmt::format("{:6} {:5.1f}%", result.rejected(), 100.0 * static_cast<double>(result.rejected()) / attempts);
}

std::string separator(const CellResult *before, const CellResult &result) {
    return before != nullptr && before->cell.operation != result.cell.operation ? "\n" : "";
}

std::string size_text(const Cell &cell) { return cell.size == 0 ? "-" : fmt::format("{}", cell.size); }

namespace {

/// What a reader of the terminal sees, at the end of the run.
class TableReporter : public Reporter {
public:
    explicit TableReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override { context_ = context; }

    void cell(const CellResult &result) override { results_.push_back(result); }

    void end(const RunEnd &end) override {
        std::sort(results_.begin(), results_.end(),
                  [](const CellResult &a, const CellResult &b) { return a.index < b.index; });
        std::string text = table_context(context_, end.agreement) + "\n" +
                           (is_comparison(results_) ? table_comparison(results_) : table_details(results_)) +
                           unmeasured() + "\n";
        for (const std::string &warning : end.warnings) {
            text += fmt::format("warning: {}\n", warning);
        }
        for (const std::string &path : context_.outputs) {
            text += fmt::format("written: {}\n", path);
        }
        output_.write(text);
    }

private:
    std::string unmeasured() const {
        std::string text;
        for (const CellResult &result : results_) {
            if (result.status != CellStatus::ok) {
                text += fmt::format("{}: {}: {} of {} samples valid\n", to_string(result.status), describe(result.cell),
                                    result.valid, result.requested);
            }
        }
        return text;
    }

    TextOutput output_;
    SamplingContext context_;
    std::vector<CellResult> results_;
};

} // namespace

ReporterInfo reporters::table() {
    return {.name = "table",
            .description = "medians in microseconds, on standard output only",
            .suffix = "",
            .on_stdout = true,
            .shows_warnings = true,
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<TableReporter>(path);
            }};
}

} // namespace bench
