#include "crc32.h"
#include "files.h"
#include "output/output.h"

#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace bench {
namespace {

std::uint32_t checksum(const std::string &text) {
    crc32 crc{};
    crc32_begin(&crc);
    crc32_add(&crc, text.data(), text.size());
    return crc32_value(&crc);
}

// The check value of the catalog of CRCs, and others of zlib.
TEST(Crc32, IsThatOfZlib) {
    EXPECT_EQ(checksum(""), 0U);
    EXPECT_EQ(checksum("a"), 0xe8b7be43U);
    EXPECT_EQ(checksum("123456789"), 0xcbf43926U);
    EXPECT_EQ(checksum(std::string(1000, '\0')), 0x060b1780U);
    EXPECT_EQ(checksum("The quick brown fox jumps over the lazy dog"), 0x414fa339U);
}

TEST(Crc32, DoesNotDependOnThePieces) {
    const std::string text = "The quick brown fox jumps over the lazy dog";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        crc32 crc{};
        crc32_begin(&crc);
        crc32_add(&crc, text.data(), cut);
        crc32_add(&crc, text.data() + cut, text.size() - cut);
        EXPECT_EQ(crc32_value(&crc), 0x414fa339U);
    }
}

class SealFile : public Files {};

TEST_F(SealFile, AppendsTheChecksumOfAllBytes) {
    const std::string content(200000, 'x');
    Output output(path("a"));
    output.write(content);
    seal_file(output);
    output.finish();
    EXPECT_EQ(read(path("a")), content + fmt::format("DOWNBEAT-CRC32:{:08x}\n", checksum(content)));
}

TEST_F(SealFile, LeavesDevicesAlone) {
    Output output("/dev/null");
    EXPECT_NO_THROW(seal_file(output));
}

} // namespace
} // namespace bench
