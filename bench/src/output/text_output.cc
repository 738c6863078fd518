#include "output/text_output.h"

#include "text/error.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <iostream>

namespace bench {

TextOutput::TextOutput(const std::string &path) : path_(path), stream_(&std::cout) {
    if (path != standard_output) {
        errno = 0;
        file_.open(path, std::ios::out | std::ios::trunc);
        if (!file_) {
            throw Error::here(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
        }
        stream_ = &file_;
    }
}

void TextOutput::write(std::string_view text) {
    errno = 0;
    *stream_ << text << std::flush;
    if (!*stream_) {
        throw Error::here(fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
    }
}

} // namespace bench
