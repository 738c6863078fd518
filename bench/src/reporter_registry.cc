#include "reporter_registry.h"

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

} // namespace bench
