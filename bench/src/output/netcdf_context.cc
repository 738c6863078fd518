#include "output/netcdf_context.h"

#include <fmt/format.h>
#include <netcdf.h>

namespace bench {
namespace {

struct Writer {
    NetcdfFile &file;
    const std::string &name;
    void operator()(const std::string &text) const { file.attribute(NC_GLOBAL, name, text); }
    void operator()(double number) const { file.attribute(NC_GLOBAL, name, number); }
    void operator()(long number) const { file.attribute(NC_GLOBAL, name, std::int64_t{number}); }
    // As text, since a seed may exceed what NC_INT64 holds.
    void operator()(std::uint64_t number) const { file.attribute(NC_GLOBAL, name, fmt::format("{}", number)); }
};

} // namespace

void write_netcdf_context(NetcdfFile &file, const Context &context, const ContextValues &values) {
    file.attribute(NC_GLOBAL, "schema", std::string("downbeat-bench"));
    file.attribute(NC_GLOBAL, "schema_version", std::int64_t{schema_version});
    for (const auto &[name, value] : values) {
        std::visit(Writer{file, name}, value);
    }
    for (const auto &[name, value] : context.clock) {
        file.attribute(NC_GLOBAL, "clock_" + name, value);
    }
    file.attribute(NC_GLOBAL, "environment", describe_environment(context));
    file.attribute(NC_GLOBAL, "hosts", describe_hosts(context));
}

} // namespace bench
