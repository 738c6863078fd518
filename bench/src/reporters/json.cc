#include "json_records.h"
#include "metric.h"
#include "reporter_registry.h"
#include "text_output.h"

namespace bench {
namespace {

Json to_json(const CellResult &result) {
    Json json = json_record("cell");
    json["cell"] = result.index;
    json["operation"] = result.cell.operation;
    json["algorithm"] = result.cell.algorithm;
    json["size"] = result.cell.size;
    json["size_meaning"] = result.cell.size_meaning;
    json["datatype"] = result.cell.datatype;
    json["synchronizer"] = result.cell.synchronizer;
    json["barrier_algorithm"] = result.cell.barrier_algorithm;
    json["timing"] = result.cell.timing;
    json["pattern"] = result.cell.pattern;
    json["delay_s"] = result.cell.delay;
    json["computation_s"] = result.cell.computation;
    json["status"] = to_string(result.status);
    json["requested"] = result.requested;
    json["valid"] = result.valid;
    json["rejected"] = result.rejected();
    json["late_flag"] = result.late_flag;
    json["late_entry"] = result.late_entry;
    json["discarded"] = result.discarded;
    json["calls"] = result.calls;
    json["error_bound_s"] = result.error_bound;
    json["slack_s"] = result.slack;
    json["wall_time_s"] = result.wall_time;
    json["mean_of_means_s"] = result.mean_of_means;
    json["max_of_means_s"] = result.max_of_means;
    json["overlap_benefit"] = {{"median", result.overlap_median.benefit}, {"min", result.overlap_min.benefit}};
    json["overlap_share"] = {{"median", result.overlap_median.share}, {"min", result.overlap_min.share}};
    json["computed_s"] = result.computed;
    json["overlap_osu"] = result.computation_overlap.osu;
    json["overlap_imb"] = result.computation_overlap.imb;
    json["overlap_window"] = result.computation_overlap.window;
    json["validated"] = result.validated;
    json["wrong"] = result.wrong;
    json["error"] = result.error;
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
    return {{"ranks", agreement.ranks},
            {"outside", agreement.outside},
            {"worst_rank", agreement.worst},
            {"offset_s", agreement.offset},
            {"allowed_s", agreement.allowed}};
}

/// JSON lines: the context, each cell as it completes, the end with the warnings. A file without the last was cut
/// short.
class JsonReporter : public Reporter {
public:
    explicit JsonReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override {
        write(json_context(context, context_values(context)));
    }
    void cell(const CellResult &result) override { write(to_json(result)); }
    void end(const RunEnd &end) override {
        Json json = json_record("end");
        json["clock_check"] = to_json(end.agreement);
        json["warnings"] = end.warnings;
        write(json);
    }

private:
    void write(const Json &json) { output_.write(json_line(json)); }

    TextOutput output_;
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
