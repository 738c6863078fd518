#include "output/reporters/reporter_registry.h"

#include "text/error.h"
#include "text/names.h"

#include <filesystem>
#include <fmt/format.h>

namespace bench {
namespace {

const ReporterInfo &find_by_suffix(const std::string &path, bool of_findings) {
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

} // namespace

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
    return find_by_suffix(path, false);
}

const ReporterInfo &find_findings_reporter(const std::string &path) { return find_by_suffix(path, true); }

std::vector<std::string> cell_formats() { return formats(false); }

std::vector<std::string> findings_formats() { return formats(true); }

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
