#include "output/seal_file.h"

#include "crc32.h"

#include <array>
#include <fmt/format.h>

namespace bench {

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

} // namespace bench
