// Parses numbers, message sizes and pairs of ranks from command lines.
#pragma once

#include "text/error.h"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bench {

/// Parses a number; empty unless the complete text is a number of this type.
template <typename Number> std::optional<Number> read_number(std::string_view text) {
    Number number{};
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

/// Parses the value of an option, from `min` to `max`. Throws Error::usage with the valid values otherwise; messages of
/// CLI11 do not name them. `what` names the kind of a floating-point value in the message.
template <typename Number>
Number parse_number(std::string_view option, std::string_view text, Number min, Number max,
                    std::string_view what = "seconds") {
    const std::optional<Number> number = read_number<Number>(text);
    if (!number || !(*number >= min && *number <= max)) {
        throw Error::usage(fmt::format("{} cannot be '{}'; use {} from {} to {} without {}", option, text,
                                       std::is_integral_v<Number> ? "an integer" : what, min, max,
                                       std::is_integral_v<Number> ? "suffix" : "unit"));
    }
    return *number;
}

/// Parses message sizes in bytes: "8:64K" (the powers of two from 8 to 65536), "8,100,1M", or a mixture, in the order
/// of the text. K, M and G are powers of 1024. Throws Error::usage on other text, on 0, and on a size that occurs
/// twice.
std::vector<std::uint64_t> parse_sizes(std::string_view text);

/// Two ranks that exchange messages to compare their clocks or time a round trip.
struct Pair {
    int asker;    // sends the first message of an exchange, and has the results
    int answerer; // replies

    bool operator==(const Pair &) const = default;
};

/// The text of a pair, "0:1".
std::string describe_pair(const Pair &pair);

/// Parses pairs from text such as "0:1,0:2", asker first. Throws Error::usage on other text, on ranks that are not
/// below `ranks`, and on a pair that occurs twice.
std::vector<Pair> parse_pairs(const std::string &text, int ranks);

} // namespace bench
