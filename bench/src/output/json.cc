#include "output/format.h"
#include "output/json_records.h"
#include "output/output.h"

namespace bench {
namespace {

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

/// JSON lines: the context with what the fields mean, each row of each table as it comes, the end with the warnings. A
/// file without an end is of an interrupted run.
class JsonSink : public Sink {
public:
    explicit JsonSink(const std::string &path) : output_(path) {}

    void open(const Context &context, const Dataset &described) override {
        described_ = &described;
        Json head = json_context(context, described.attributes);
        head["title"] = described.title;
        for (const Variable &variable : described.variables) {
            if (variable.in != Variable::In::netcdf) {
                Json &about = head["variables"][variable.name];
                about = {{"dimensions", variable.dimensions}, {"unit", variable.unit}, {"meaning", variable.meaning}};
            }
        }
        output_.write(json_line(head));
    }

    void row(const Rows &rows) override {
        if (rows.partial) {
            return;
        }
        const std::vector<std::string> &along = described_->variables[rows.columns.front().first].dimensions;
        std::string lines;
        for (std::size_t i = 0; i < size_of(rows.columns.front().second); ++i) {
            Json json = json_record(along == std::vector<std::string>{"cell"} ? "cell" : "row");
            json["dimensions"] = along;
            std::vector<std::size_t> place = described_->unravel(along, i);
            place[0] += rows.first;
            for (std::size_t d = 0; d < along.size(); ++d) {
                const Variable *const names = described_->coordinates(along[d]);
                json[along[d]] =
                    names == nullptr ? Json(place[d]) : json_value(element(names->values, place[d]), *names);
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
            .description = "JSON lines: the context, one object per cell, the end; .json",
            .suffix = ".json",
            .on_stdout = true,
            .shows_warnings = true,
            .make = Make<JsonSink>{}};
}

} // namespace bench
