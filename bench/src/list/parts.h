#pragma once

#include "part.h"

#include <string>
#include <vector>

namespace bench {

/// A parameter of a part.
struct ListedParameter {
    std::string name;
    std::string value;   // the default
    std::string meaning; // with its unit
    std::string kind;    // of part that it takes; "" where it takes none
    PartValues values;   // where it takes no part
};

/// Something that has a name on the command line or in the settings.
struct ListedPart {
    std::string name;
    std::string summary;
    std::string source; // paper and section; "" where there is none to name
    std::vector<ListedParameter> parameters;
};

/// Parts of one kind.
struct ListedKind {
    std::string name;
    std::string description;
    std::vector<ListedPart> parts;
};

/// The parts by their kinds, the parameters of each below it; what is of several kinds is described once.
std::string list_table(const std::vector<ListedKind> &kinds);
/// JSON lines, one part each.
std::string list_json(const std::vector<ListedKind> &kinds);

} // namespace bench
