#include "output/seal_file.h"

#include "crc32.h"
#include "text/error.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace bench {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE *)>;

} // namespace

void seal_file(const std::string &path) {
    if (!std::filesystem::is_regular_file(path)) {
        return;
    }
    const auto failed = [&] { return Error::here(fmt::format("cannot write '{}': {}", path, std::strerror(errno))); };
    File file(std::fopen(path.c_str(), "r+b"), std::fclose);
    if (!file) {
        throw failed();
    }
    crc32 crc{};
    crc32_begin(&crc);
    std::array<unsigned char, 1 << 16> buffer{};
    while (std::feof(file.get()) == 0 && std::ferror(file.get()) == 0) {
        crc32_add(&crc, buffer.data(), std::fread(buffer.data(), 1, buffer.size(), file.get()));
    }
    const std::string line = fmt::format("DOWNBEAT-CRC32:{:08x}\n", crc32_value(&crc));
    // Between reading and writing the standard wants a seek.
    if (std::ferror(file.get()) != 0 || std::fseek(file.get(), 0, SEEK_END) != 0 ||
        std::fwrite(line.data(), 1, line.size(), file.get()) != line.size() || std::fclose(file.release()) != 0) {
        throw failed();
    }
}

} // namespace bench
