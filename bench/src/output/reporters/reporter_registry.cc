#include "output/reporters/reporter_registry.h"

#include "text/error.h"

#include <filesystem>
#include <fmt/format.h>

namespace bench {
const std::vector<ReporterInfo> &all_reporters() {
    static const std::vector<ReporterInfo> all = {
        reporters::table(),  reporters::csv(), reporters::json(),
        reporters::netcdf(), reporters::osu(), reporters::perfetto(),
#ifdef BENCH_OTF2
        reporters::otf2(),
#endif
    };
    return all;
}

const ReporterInfo &find_reporter(const std::string &path, bool of_findings) {
#ifndef BENCH_OTF2
    if (!of_findings && path.ends_with(".otf2")) {
        throw Error::usage(fmt::format("'{}' cannot be written: downbeat-bench was built without the OTF2 library "
                                       "(Debian package libotf2-trace-dev)",
                                       path));
    }
#endif
    const std::string file = std::filesystem::path(path).filename();
    std::vector<std::string> valid;
    const ReporterInfo *found = nullptr;
    for (const ReporterInfo &entry : all_reporters()) {
        if (entry.suffix.empty() || (of_findings && entry.of_cells_alone)) {
            continue;
        }
        valid.push_back(entry.suffix);
        const bool fits = file.size() > entry.suffix.size() && file.ends_with(entry.suffix);
        if (fits && (found == nullptr || entry.suffix.size() > found->suffix.size())) {
            found = &entry;
        }
    }
    if (found == nullptr) {
        throw Error::usage(
            fmt::format("the file type of '{}' is unknown; use one of the suffixes {}", path, join(valid)));
    }
    return *found;
}

std::vector<std::string> formats(bool of_findings) {
    std::vector<std::string> names;
    for (const ReporterInfo &reporter : all_reporters()) {
        if (reporter.on_stdout && !(of_findings && reporter.of_cells_alone)) {
            names.push_back(reporter.name);
        }
    }
    return names;
}

std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files) {
    std::string text = "\n";
    for (const std::string &warning : warnings) {
        text += fmt::format("warning: {}\n", warning);
    }
    for (const std::string &path : files) {
        text += fmt::format("written: {}\n", path);
    }
    return text;
}

} // namespace bench
