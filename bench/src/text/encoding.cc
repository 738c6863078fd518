#include "text/encoding.h"

#include "utf8_length.h"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <string_view>

namespace bench {
namespace {

std::uint8_t byte(char c) { return static_cast<std::uint8_t>(c); }

bool continues(char c) { return (byte(c) & 0xc0U) == 0x80U; }

} // namespace

std::optional<std::size_t> find_unprintable(std::string_view text) {
    for (std::size_t place = 0; place < text.size();) {
        const std::size_t length = utf8_length(text.data() + place, text.size() - place);
        if (length == 0) {
            return place;
        }
        place += length;
    }
    return std::nullopt;
}

std::string printable(std::string_view text) {
    std::string result;
    while (const std::optional<std::size_t> place = find_unprintable(text)) {
        const char bad = text[*place];
        result += text.substr(0, *place);
        result += bad == '\n' ? "\n" : fmt::format("\\x{:02x}", byte(bad));
        text.remove_prefix(*place + 1);
    }
    return result.append(text);
}

std::string_view cut_off(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) {
        return text;
    }
    while (bytes > 0 && continues(text[bytes])) {
        --bytes;
    }
    return text.substr(0, bytes);
}

std::string csv_field(const std::string &given) {
    // Spreadsheets would take it for a formula (OWASP, "CSV Injection").
    const bool formula = !given.empty() && std::string_view("=+-@\t\r").find(given.front()) != std::string_view::npos;
    const std::string text = formula ? "'" + given : given;
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string result = "\"";
    for (const char c : text) {
        result += c == '"' ? "\"\"" : std::string(1, c);
    }
    return result + "\"";
}

std::string csv_field(double number) { return std::isnan(number) ? "" : fmt::format("{}", number); }

std::string csv_field(std::int64_t number) { return fmt::format("{}", number); }

} // namespace bench
