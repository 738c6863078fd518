#include "reporter_registry.h"

#include "error.h"
#include "names.h"

#include <filesystem>
#include <fmt/format.h>

namespace bench {

const std::vector<ReporterInfo> &all_reporters() {
#define BENCH_LIST(name) reporters::name(),
    static const std::vector<ReporterInfo> all = {BENCH_REPORTERS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

std::vector<std::string> stdout_formats() {
    std::vector<std::string> names;
    for (const ReporterInfo &reporter : all_reporters()) {
        if (reporter.on_stdout) {
            names.push_back(reporter.name);
        }
    }
    return names;
}

const ReporterInfo &find_reporter_by_suffix(const std::string &path) {
    const std::string suffix = std::filesystem::path(path).extension();
    std::vector<std::string> valid;
    for (const ReporterInfo &reporter : all_reporters()) {
        if (reporter.suffix.empty()) {
            continue;
        }
        if (reporter.suffix == suffix) {
            return reporter;
        }
        valid.push_back(reporter.suffix);
    }
    throw Error::usage(fmt::format("the kind of file '{}' is unknown; valid suffixes are {}", path, join(valid)));
}

} // namespace bench
