#pragma once

#include <string>

namespace bench {

/// Whether a rules file of coll_tuned, version 1, names an algorithm of a collective on so many ranks, as the library
/// reads it (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c). An unreadable file has no rules; a file of
/// another form may have any.
bool has_rules(const std::string &path, const std::string &collective, long ranks);

} // namespace bench
