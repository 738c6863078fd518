#include "text/utf8.h"

#include <cstdint>
#include <fmt/format.h>

namespace bench {
namespace {

std::uint8_t byte(char c) { return static_cast<std::uint8_t>(c); }

bool continues(char c) { return (byte(c) & 0xc0U) == 0x80U; }

/// The bytes of the character that a text begins with; 0 if it begins with none (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
    const std::uint8_t first = byte(text.front());
    if (first < 0x80) {
        return first >= 0x20 && first != 0x7f ? 1 : 0;
    }
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) {
        return 0;
    }
    for (const char c : text.substr(1, length - 1)) {
        if (!continues(c)) {
            return 0;
        }
    }
    const std::uint8_t second = byte(text[1]);
    const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second > 0x9f;
    const bool too_large = first == 0xf4 && second > 0x8f;
    const bool control = first == 0xc2 && second < 0xa0; // 80 to 9f, which some terminals obey
    return too_long || surrogate || too_large || control ? 0 : length;
}

} // namespace

std::optional<std::size_t> find_unprintable(std::string_view text) {
    for (std::size_t place = 0; place < text.size();) {
        const std::size_t length = character_length(text.substr(place));
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

} // namespace bench
