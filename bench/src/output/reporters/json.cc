#include "cells/cell_fields.h"
#include "metrics/metric.h"
#include "output/json_records.h"
#include "output/output.h"
#include "output/reporters/reporter_registry.h"

namespace bench {
namespace {

struct Value {
    template <typename T> Json operator()(const T &value) const { return value; }
    Json operator()(CellStatus status) const { return to_string(status); }
};

Json to_json(const CellResult &result) {
    Json json = json_record("cell");
    json["cell"] = result.index;
    for (const CellField &field : cell_fields()) {
        json[field.name] = std::visit(Value{}, field.value(result));
    }
    for (std::size_t m = 0; m < result.metrics.size(); ++m) {
        const Metric &metric = all_metrics()[m];
        Json &summary = json["metrics"][metric.name];
        summary["unit"] = metric.unit;
        summary["error_bound"] = metric.error_bounds * result.error_bound;
        for (const Statistic &statistic : statistics()) {
            summary[statistic.name] = result.metrics[m].*statistic.value;
        }
    }
    return json;
}

Json to_json(const ClockAgreement &agreement) {
    return {{"ranks", agreement.ranks},       {"outside", agreement.outside},
            {"worst_rank", agreement.worst},  {"offset_s", agreement.offset},
            {"allowed_s", agreement.allowed}, {"contradictions", agreement.contradictions}};
}

/// JSON lines: the context with what the fields mean, each cell as it completes, the end with the warnings. A file
/// without the last was cut short.
class JsonReporter : public Reporter {
public:
    explicit JsonReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override {
        Json head = json_context(context, context_values(context));
        for (const CellField &field : cell_fields()) {
            head["variables"][field.name] = json_variable({"cell"}, field.unit, field.meaning);
        }
        for (const Metric &metric : all_metrics()) {
            head["metrics"][metric.name] = {
                {"unit", metric.unit}, {"meaning", metric.description}, {"error_bounds", metric.error_bounds}};
        }
        write(head);
    }
    void cell(const CellResult &result) override { write(to_json(result)); }
    void end(const RunEnd &end) override {
        Json json = json_record("end");
        json["clock_check"] = to_json(end.agreement);
        json["warnings"] = end.warnings;
        output_.finish(json_line(json));
    }

private:
    void write(const Json &json) { output_.write(json_line(json)); }

    Output output_;
};

} // namespace

ReporterInfo reporters::json() {
    return {.name = "json",
            .description = "JSON lines: the context, one object per cell, the end; .json",
            .suffix = ".json",
            .on_stdout = true,
            .shows_warnings = true,
            .is_trace = false,
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<JsonReporter>(path);
            }};
}

} // namespace bench
