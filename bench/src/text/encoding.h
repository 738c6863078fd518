#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bench {

/// The index of the first byte that is not valid UTF-8 or is a control character; nothing if there is none. Texts in
/// files and tables pass, so that every reader can read them.
std::optional<std::size_t> find_unprintable(std::string_view text);

/// The text with such bytes made visible: "\x1b". Lines are kept.
std::string printable(std::string_view text);

/// A prefix of at most so many bytes that cuts no character.
std::string_view cut_off(std::string_view text, std::size_t bytes);

/// A text, quoted if it contains characters that would end the field (RFC 4180), after an apostrophe if a spreadsheet
/// would take it for a formula.
std::string csv_field(const std::string &given);
/// A missing value (NaN) is an empty field, which R and pandas understand.
std::string csv_field(double number);
std::string csv_field(std::int64_t number);

} // namespace bench
