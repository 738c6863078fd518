#include "metric.h"
#include "reporter_registry.h"
#include "text_output.h"

#include <nlohmann/json.hpp>

namespace bench {
namespace {

using Json = nlohmann::ordered_json; // NaN becomes null

Json record(const char *kind) { return {{"schema_version", schema_version}, {"record", kind}}; }

Json to_object(const std::vector<std::pair<std::string, std::string>> &pairs) {
    Json object = Json::object();
    for (const auto &[name, value] : pairs) {
        object[name] = value;
    }
    return object;
}

Json to_json(const HostInfo &host) {
    return {{"name", host.name},
            {"ranks", host.ranks},
            {"processors", host.processors},
            {"load", host.load},
            {"governor", host.governor},
            {"cpu_model", host.cpu_model},
            {"virtual_machine", host.virtual_machine}};
}

Json to_json(const Context &context) {
    Json json = record("context");
    for (const auto &[name, value] : context_values(context)) {
        std::visit([&json, &key = name](const auto &typed) { json[key] = typed; }, value);
    }
    json["hosts"] = Json::array();
    for (const HostInfo &host : context.hosts) {
        json["hosts"].push_back(to_json(host));
    }
    json["ranks"] = Json::array();
    for (const RankPlace &place : context.ranks) {
        json["ranks"].push_back({{"host", place.host}, {"cpuset", place.cpuset}});
    }
    json["clock"] = to_object(context.clock);
    json["environment"] = to_object(context.environment);
    json["outputs"] = context.outputs;
    return json;
}

Json to_json(const CellResult &result) {
    Json json = record("cell");
    json["cell"] = result.index;
    json["operation"] = result.cell.operation;
    json["size"] = result.cell.size;
    json["datatype"] = result.cell.datatype;
    json["synchronizer"] = result.cell.synchronizer;
    json["status"] = to_string(result.status);
    json["requested"] = result.requested;
    json["valid"] = result.valid;
    json["rejected"] = result.rejected();
    json["late_flag"] = result.late_flag;
    json["late_entry"] = result.late_entry;
    json["error_bound_s"] = result.error_bound;
    json["slack_s"] = result.slack;
    for (std::size_t m = 0; m < result.metrics.size(); ++m) {
        const Metric &metric = all_metrics()[m];
        Json &summary = json["metrics"][metric.name];
        summary["unit"] = metric.unit;
        for (const Statistic &statistic : statistics()) {
            summary[statistic.name] = result.metrics[m].*statistic.value;
        }
    }
    return json;
}

/// JSON lines: the context, each cell as it completes, the end with the warnings. A file without the last was cut
/// short.
class JsonReporter : public Reporter {
public:
    explicit JsonReporter(const std::string &path) : output_(path) {}

    void begin(const Context &context, const std::vector<Cell> &) override { write(to_json(context)); }
    void cell(const CellResult &result) override { write(to_json(result)); }
    void end(const std::vector<std::string> &warnings) override {
        Json json = record("end");
        json["warnings"] = warnings;
        write(json);
    }

private:
    // What is not UTF-8, as an odd environment variable, is replaced rather than an error.
    void write(const Json &json) { output_.write(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"); }

    TextOutput output_;
};

} // namespace

ReporterInfo reporters::json() {
    return {.name = "json",
            .description = "JSON lines: the context, one object per cell, the end; .json",
            .suffix = ".json",
            .on_stdout = true,
            .shows_warnings = true,
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<JsonReporter>(path);
            }};
}

} // namespace bench
