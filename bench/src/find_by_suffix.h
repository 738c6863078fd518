#pragma once

#include "error.h"
#include "names.h"

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace bench {

/// The entry of a registry that writes files with the suffix of this path; entries without a suffix write none. Throws
/// Error::usage where no entry has that suffix.
template <typename Registry> const auto &find_by_suffix(const Registry &registry, const std::string &path) {
    const std::string suffix = std::filesystem::path(path).extension();
    std::vector<std::string> valid;
    for (const auto &entry : registry) {
        if (entry.suffix.empty()) {
            continue;
        }
        if (entry.suffix == suffix) {
            return entry;
        }
        valid.push_back(entry.suffix);
    }
    throw Error::usage(fmt::format("the kind of file '{}' is unknown; valid suffixes are {}", path, join(valid)));
}

} // namespace bench
