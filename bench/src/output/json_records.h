#pragma once

#include "context/context.h"

#include <nlohmann/json.hpp>
#include <string>

namespace bench {

using Json = nlohmann::ordered_json; // NaN becomes null

/// An object that begins as every record does.
Json json_record(const char *kind);

/// The context's record: `values`, and the rest of the context.
Json json_context(const Context &context, const ContextValues &values);

/// One line. What is not UTF-8, as an odd environment variable, is replaced rather than an error.
std::string json_line(const Json &json);

} // namespace bench
