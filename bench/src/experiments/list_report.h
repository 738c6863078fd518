// The output of `downbeat-bench list`: components as a text or as JSON lines.
#pragma once

#include "text/component.h"
#include "text/field.h"

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// The MPI calls of an operation.
struct ListedCall {
    std::string collective;   // collective that it is a form of; "" if it is not a form
    std::string form;         // "blocking", "nonblocking", "persistent" or ""
    std::string call;         // called functions: "MPI_Ibcast, MPI_Wait"
    std::string size_meaning; // the object that has the size; "" without a size
    std::string unavailable;  // the reason why this MPI library does not have it; "" if it is available
    std::string flow = "";    // how data flow, e.g. to a root: values of Flow (operations/collective.h); "" if unknown
    bool reduces = false;     // has a reduction operator
    bool irregular = false;   // takes blocks of different sizes
};

/// A component with a name on the command line or in the settings.
struct ListedComponent : ComponentInfo {
    std::optional<ListedCall> call = {}; // only for operations
    std::optional<Field> field = {};     // only for fields and metrics
};

/// Components of one kind.
struct ListedKind {
    std::string name;
    std::string description;
    std::vector<ListedComponent> components;
};

/// A text with all components and their parameters.
std::string list_table(const std::vector<ListedKind> &kinds);

/// JSON lines with a component each.
std::string list_json(const std::vector<ListedKind> &kinds);

} // namespace bench
