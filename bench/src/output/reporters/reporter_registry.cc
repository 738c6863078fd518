#include "output/reporters/reporter_registry.h"

#include "output/find_by_suffix.h"
#include "text/names.h"

namespace bench {

const std::vector<ReporterInfo> &all_reporters() {
#define BENCH_LIST(name) reporters::name(),
    static const std::vector<ReporterInfo> all = {BENCH_REPORTERS(BENCH_LIST)};
#undef BENCH_LIST
    return all;
}

const ReporterInfo &find_reporter(const std::string &path) {
#ifndef BENCH_OTF2
    if (path.ends_with(".otf2")) {
        throw Error::usage(fmt::format("'{}' cannot be written: downbeat-bench was built without the OTF2 library "
                                       "(Debian package libotf2-trace-dev)",
                                       path));
    }
#endif
    return find_by_suffix(all_reporters(), path);
}

std::vector<std::string> cell_formats() {
    std::vector<std::string> names;
    for (const ReporterInfo &reporter : all_reporters()) {
        if (reporter.on_stdout) {
            names.push_back(reporter.name);
        }
    }
    return names;
}

std::vector<std::string> experiment_formats() {
    std::vector<std::string> names = cell_formats();
    std::erase_if(names, [](const std::string &name) { return find_by_name(all_reporters(), name).of_cells_alone; });
    return names;
}

} // namespace bench
