#include "output/output.h"

#include "crc32.h"
#include "text/error.h"
#include "text/words.h"

#include <array>
#include <fmt/format.h>
#include <iostream>

namespace bench {

Output::Output(const std::string &path) : path_(path) {
    if (path == standard_output) {
        output_.file = dup(STDOUT_FILENO);
        check(output_.file < 0 ? errno : 0);
        return;
    }
    check(output_create(&output_, path.c_str(), 1));
    if (const int code = output_place(&output_)) {
        check(output_close(&output_, code));
    }
}

Output::~Output() {
    if (output_.file >= 0) {
        ::close(output_.file); // after an error that is being reported already
    }
}

void Output::check(int code) const {
    if (code != 0) {
        throw Error::here(fmt::format("cannot write '{}': {}", path_, output_reason(code)));
    }
}

void Output::write(std::string_view text) { check(output_write(&output_, text.data(), text.size())); }

void Output::finish(std::string_view text) {
    write(text);
    check(output_close(&output_, 0));
}

void seal_file(Output &output) {
    const int file = output.descriptor();
    struct stat status {};
    output.check(fstat(file, &status) != 0 ? errno : 0);
    if (!S_ISREG(status.st_mode)) {
        return;
    }
    output.check(lseek(file, 0, SEEK_SET) < 0 ? errno : 0);
    crc32 crc{};
    crc32_begin(&crc);
    std::array<char, 1 << 16> buffer{};
    ssize_t size = 0;
    while ((size = read(file, buffer.data(), buffer.size())) > 0) {
        crc32_add(&crc, buffer.data(), static_cast<std::size_t>(size));
    }
    output.check(size < 0 ? errno : 0);
    output.write(fmt::format("DOWNBEAT-CRC32:{:08x}\n", crc32_value(&crc)));
}

void print_error(const std::string &message) {
    // One write, so that lines of different ranks do not mix.
    std::cerr << fmt::format("downbeat-bench: {}\n", printable(message)) << std::flush;
}

} // namespace bench
