// Records of output format json: JSON lines that begin with the schema version and the kind of record.
#pragma once

#include "output/context.h"

#include <nlohmann/json.hpp>
#include <string>

namespace bench {

using Json = nlohmann::ordered_json; // writes NaN as null

/// Makes a record of this kind.
Json json_record(const char *kind);

/// Makes the record of the context: `values`, hosts, ranks, clock, environment and outputs.
Json json_context(const Context &context, const ContextValues &values);

/// Writes a record as a line. Replaces bytes that are not UTF-8, e.g. in an environment variable.
std::string json_line(const Json &json);

} // namespace bench
