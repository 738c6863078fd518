#include "text/fill.h"

#include <algorithm>

namespace bench {

std::string fill(const std::string &text, std::size_t indent) {
    std::string result;
    std::size_t column = indent;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        const std::size_t length = end - start;
        if (column > indent && column + 1 + length > terminal_width) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            result += ' ';
            ++column;
        }
        result += text.substr(start, length);
        column += length;
        start = end + 1;
    }
    return result;
}

} // namespace bench
