#include "cells/cell_fields.h"
#include "metrics/metric.h"
#include "output/json_records.h"
#include "output/reporters/reporter_registry.h"

namespace bench {
namespace {

struct Value {
    template <typename T> Json operator()(const T &value) const { return value; }
    Json operator()(CellStatus status) const { return to_string(status); }
};

Json element(const Variable &variable, std::size_t index) {
    return std::visit([index](const auto &values) { return Json(values[index]); }, variable.values);
}

/// One record per row of a table of the dataset.
std::string table_lines(const Dataset &dataset, const std::vector<const Variable *> &table) {
    const Variable &first = *table.front();
    std::string lines;
    for (std::size_t i = 0; i < dataset.size(first); ++i) {
        Json row = json_record("row");
        row["dimensions"] = first.dimensions;
        const std::vector<std::size_t> indices = unravel(dataset, first, i);
        for (std::size_t d = 0; d < indices.size(); ++d) {
            const Variable *const coordinates = dataset.coordinates(first.dimensions[d]);
            row[first.dimensions[d]] = coordinates == nullptr ? Json(indices[d]) : element(*coordinates, indices[d]);
        }
        for (const Variable *variable : table) {
            row[variable->name] = element(*variable, i);
        }
        lines += json_line(row);
    }
    return lines;
}

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

/// JSON lines: the context with what the fields mean, each cell as it completes or each row of a dataset, the end with
/// the warnings. A file without an end is of an interrupted run.
class JsonReporter : public Reporter {
public:
    explicit JsonReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override {
        Json head = json_context(context, context_values(context));
        for (const CellField &field : cell_fields()) {
            add_variable(head, field.name, {"cell"}, field.unit, field.meaning);
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

    void findings(const Context &context, const Findings &found) override {
        ContextValues values = context_values(context);
        values.insert(values.end(), found.data.attributes.begin(), found.data.attributes.end());
        Json head = json_context(context, values);
        head["title"] = found.data.title;
        for (const Variable &variable : found.data.variables) {
            add_variable(head, variable.name, variable.dimensions, variable.unit, variable.meaning);
        }
        write(head);
        for (const std::vector<const Variable *> &table : found.data.tables()) {
            output_.write(table_lines(found.data, table));
        }
        Json end = json_record("end");
        end["warnings"] = found.warnings;
        output_.finish(json_line(end));
    }

private:
    static void add_variable(Json &head, const std::string &name, const std::vector<std::string> &dimensions,
                             const std::string &unit, const std::string &meaning) {
        head["variables"][name] = {{"dimensions", dimensions}, {"unit", unit}, {"meaning", meaning}};
    }
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
            .make = Make<JsonReporter>{}};
}

} // namespace bench
