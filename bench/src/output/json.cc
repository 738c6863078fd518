// Output format json.
#include "output/json.h"

#include "output/output.h"
#include "output/sink.h"
#include "text/words.h"

namespace bench {
namespace {

/// An object with a member per pair of name and value.
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

} // namespace

Json json_record(const char *kind) { return {{"schema_version", schema_version}, {"record", kind}}; }

Json json_context(const Context &context, const ContextValues &values) {
    Json json = json_record("context");
    for (const auto &[name, value] : values) {
        std::visit([&json, &key = name](const auto &typed) { json[key] = typed; }, value);
    }
    json["hosts"] = mapped(context.hosts, [](const HostInfo &host) { return to_json(host); });
    json["ranks"] = mapped(context.ranks, [](const RankPlace &place) {
        return Json{{"host", place.host}, {"cpuset", place.cpuset}};
    });
    json["clock"] = to_object(context.clock);
    json["environment"] = to_object(context.environment);
    json["outputs"] = context.outputs;
    return json;
}

std::string json_line(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

namespace {

/// A value; the name of a flag's value.
Json json_value(const Value &value, const Field &field) {
    if (!field.flags.empty()) {
        return field.flags.at(static_cast<std::size_t>(std::get<std::int64_t>(value)));
    }
    return std::visit([](const auto &typed) { return Json(typed); }, value);
}

Json to_json(const ClockAgreement &agreement) {
    return {{"ranks", agreement.ranks},       {"outside", agreement.outside},
            {"worst_rank", agreement.worst},  {"offset_s", agreement.offset},
            {"allowed_s", agreement.allowed}, {"contradictions", agreement.contradictions}};
}

/// Writes JSON lines: the context with the meanings of the fields, each row of each table, and the end with the
/// warnings. A file without the end record is from an interrupted run.
class JsonSink : public Sink {
public:
    explicit JsonSink(const std::string &path) : output_(path) {}

    void open(const Context &context, const Dataset &described) override {
        described_ = &described;
        Json head = json_context(context, described.attributes);
        head["title"] = described.title;
        for (const Variable &variable : described.variables) {
            if (variable.in != Variable::In::netcdf && variable.in != Variable::In::text) {
                Json &about = head["variables"][variable.name];
                about = {{"dimensions", variable.dimensions}, {"unit", variable.unit}, {"meaning", variable.meaning}};
            }
        }
        output_.write(json_line(head));
    }

    void row(const Rows &rows) override {
        if (rows.partial) { // only netCDF writes such rows (sink.h)
            return;
        }
        const std::vector<std::string> &along = described_->variables[rows.columns.front().first].dimensions;
        std::string lines;
        for (std::size_t i = 0; i < size_of(rows.columns.front().second); ++i) {
            Json json = json_record(along == std::vector<std::string>{"cell"} ? "cell" : "row");
            json["dimensions"] = along;
            const std::vector<Value> labels = described_->labels(along, i, rows.first);
            for (std::size_t d = 0; d < along.size(); ++d) {
                json[along[d]] = json_value(labels[d], {});
            }
            for (const auto &[index, values] : rows.columns) {
                const Variable &variable = described_->variables[index];
                json[variable.name] = json_value(element(values, i), variable);
            }
            lines += json_line(json);
        }
        output_.write(lines);
    }

    void close(const RunEnd &end) override {
        Json json = json_record("end");
        if (end.agreement) {
            json["clock_check"] = to_json(*end.agreement);
        }
        json["warnings"] = end.warnings;
        output_.finish(json_line(json));
    }

private:
    Output output_;
    const Dataset *described_ = nullptr;
};

} // namespace

Format formats::json() {
    return {.name = "json",
            .description = "JSON lines: the context, one object per cell or other row, the end; .json",
            .suffix = ".json",
            .on_stdout = true,
            .shows_warnings = true,
            .make = Make<JsonSink>{}};
}

} // namespace bench
