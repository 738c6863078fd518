#pragma once

#include <cstdint>
#include <string>

namespace bench {

/// A text, quoted if it contains characters that would end the field (RFC 4180), after an apostrophe if a spreadsheet
/// would take it for a formula.
std::string csv_field(const std::string &given);
/// A missing value (NaN) is an empty field, which R and pandas understand.
std::string csv_field(double number);
std::string csv_field(std::int64_t number);

} // namespace bench
