#pragma once

#include "text/error.h"
#include "text/names.h"

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace bench {

/// The entry of a registry that writes files with the suffix of this path, the longest one that fits, as .perfetto.json
/// rather than .json; entries without a suffix write none. Throws Error::usage if no entry has that suffix.
template <typename Registry> const auto &find_by_suffix(const Registry &registry, const std::string &path) {
    const std::string file = std::filesystem::path(path).filename();
    std::vector<std::string> valid;
    const typename Registry::value_type *found = nullptr;
    for (const auto &entry : registry) {
        if (entry.suffix.empty()) {
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

} // namespace bench
