#pragma once

#include "output/context.h"

#include <nlohmann/json.hpp>
#include <string>

namespace bench {

using Json = nlohmann::ordered_json; // NaN becomes null

/// An object that begins as every record does.
Json json_record(const char *kind);

/// The context's record: `values`, and the rest of the context.
Json json_context(const Context &context, const ContextValues &values);

/// One line. Bytes that are not UTF-8, e.g. in an environment variable, are replaced.
std::string json_line(const Json &json);

} // namespace bench
