#include "text/csv_field.h"

#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace bench {

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
