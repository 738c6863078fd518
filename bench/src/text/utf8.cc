#include "text/utf8.h"

#include "utf8_length.h"

#include <cstdint>
#include <fmt/format.h>

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

} // namespace bench
