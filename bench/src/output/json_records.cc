#include "output/json_records.h"

namespace bench {
namespace {

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

std::string json_line(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

} // namespace bench
