#pragma once

#include "part.h"

#include <optional>
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

/// What is behind an operation.
struct ListedCall {
    std::string collective; // of which it is a form; "" where it is none
    std::string form;       // "nonblocking"
    std::string call;       // "MPI_Ibcast, MPI_Wait"
    std::string size_meaning;
    std::string unavailable; // why the MPI library at hand does not have it; "" where it does
};

/// Something that has a name on the command line or in the settings.
struct ListedPart {
    std::string name;
    std::string summary;
    std::string source; // paper and section; "" where there is none to name
    std::vector<ListedParameter> parameters;
    std::optional<ListedCall> call = {}; // of an operation
};

/// Parts of one kind.
struct ListedKind {
    std::string name;
    std::string description;
    std::vector<ListedPart> parts;
};

/// The parts by their kinds, the parameters of each below it; what is of several kinds is described once.
std::string list_table(const std::vector<ListedKind> &kinds);
/// A part with its parameters below it.
std::string list_part(const ListedPart &part);
std::string list_parameter(const ListedParameter &parameter);

/// JSON lines, one part each.
std::string list_json(const std::vector<ListedKind> &kinds);

} // namespace bench
