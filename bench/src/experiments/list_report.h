#pragma once

#include "text/component.h"
#include "text/field.h"

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// The MPI calls of an operation.
struct ListedCall {
    std::string collective; // the one that it is a form of, or ""
    std::string form;       // "nonblocking"
    std::string call;       // "MPI_Ibcast, MPI_Wait"
    std::string size_meaning;
    std::string unavailable; // why this MPI library does not have it; "" if it does
    std::string flow = "";   // of a collective: whose contributions a rank's result has (operations/collective.h)
    bool reduces = false;
    bool irregular = false;
};

/// A component with a name on the command line or in the settings.
struct ListedComponent : ComponentInfo {
    std::optional<ListedCall> call = {}; // of an operation
    std::optional<Field> field = {};     // of a field or a metric
};

/// Components of one kind.
struct ListedKind {
    std::string name;
    std::string description;
    std::vector<ListedComponent> components;
};

/// The components by kind, each with its parameters.
std::string list_table(const std::vector<ListedKind> &kinds);

/// JSON lines, one component each.
std::string list_json(const std::vector<ListedKind> &kinds);

} // namespace bench
