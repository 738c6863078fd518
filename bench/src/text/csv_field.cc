#include "text/csv_field.h"

#include <cmath>
#include <fmt/format.h>

namespace bench {

std::string csv_field(const std::string &text) {
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
