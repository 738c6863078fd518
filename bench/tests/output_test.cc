#include "crc32.h"
#include "files.h"
#include "output/output.h"
#include "text/error.h"
#include "written.h"

#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr uid_t another_user = 65534;

class OutputTest : public Files {
protected:
    void SetUp() override {
        Files::SetUp();
        std::ofstream(path("victim")) << "years of work";
    }
    void TearDown() override {
        EXPECT_EQ(read(path("victim")), "years of work");
        Files::TearDown();
    }

    void write(const std::string &name) const {
        Output output(path(name));
        output.write("one,");
        EXPECT_EQ(read(path(name)), "one,"); // a crash loses nothing
        output.finish("two");
    }

    std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path("")), {})); }
};

TEST_F(OutputTest, ReplacesAHardLink) {
    fs::create_hard_link(path("victim"), path("a"));
    write("a");
    EXPECT_EQ(read(path("a")), "one,two");
    EXPECT_EQ(files(), 2U); // nothing else is left
}

TEST_F(OutputTest, FollowsASymbolicLinkOfOnesOwn) {
    fs::create_directory(path("scratch"));
    std::ofstream(path("scratch/b")) << "an earlier run";
    fs::create_symlink("scratch/b", path("link")); // relative to where it is
    fs::create_symlink(path("link"), path("a"));
    write("a");
    EXPECT_TRUE(fs::is_symlink(path("a")));
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_FALSE(fs::is_symlink(path("scratch/b")));
    EXPECT_EQ(read(path("scratch/b")), "one,two");
    fs::remove(path("scratch/b")); // nor does that have to exist
    write("a");
    EXPECT_EQ(read(path("scratch/b")), "one,two");
}

TEST_F(OutputTest, RefusesASymbolicLinkOfAnotherUser) {
    fs::create_symlink(path("victim"), path("a"));
    if (lchown(path("a").c_str(), another_user, another_user) != 0) {
        GTEST_SKIP() << "only root makes links of another user";
    }
    fs::create_symlink(path("a"), path("own"));
    for (const char *name : {"a", "own"}) {
        try {
            const Output output(path(name));
            ADD_FAILURE();
        } catch (const Error &error) {
            EXPECT_NE(std::string(error.what()).find("symbolic link that another user made"), std::string::npos)
                << error.what();
        }
    }
}

TEST_F(OutputTest, RefusesLinksWithoutEnd) {
    fs::create_symlink(path("a"), path("b"));
    fs::create_symlink(path("b"), path("a"));
    EXPECT_THROW(const Output output(path("a")), Error);
}

TEST_F(OutputTest, WritesToPipesAndDevicesAsTheyAre) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    fs::create_symlink(path("fifo"), path("a"));
    auto found = std::async(std::launch::async, [this] { return read(path("fifo")); });
    Output output(path("a"));
    output.finish("one");
    EXPECT_EQ(found.get(), "one");
    EXPECT_TRUE(fs::is_fifo(path("fifo")));
    Output("/dev/null").finish("one");
}

// A pipe has no path, although /dev/stdout leads to it.
TEST_F(OutputTest, WritesToADescriptorByItsName) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Output(fmt::format("/proc/self/fd/{}", ends[1])).finish("one");
    close(ends[1]);
    char text[8] = "";
    EXPECT_EQ(::read(ends[0], text, sizeof text), 3);
    EXPECT_STREQ(text, "one");
    close(ends[0]);
}

TEST_F(OutputTest, EveryKindOfFileReplacesALink) {
    for (const Format &kind : all_formats()) {
        if (kind.suffix.empty()) {
            continue;
        }
        const std::string name = path("out" + kind.suffix);
        fs::create_hard_link(path("victim"), name);
        write_fixture(kind, name);
        EXPECT_GT(fs::file_size(name), 0U) << name;
        EXPECT_FALSE(fs::equivalent(name, path("victim"))) << name;
    }
}

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

TEST(Progress, TheTimeLeftFollowsFromThePace) {
    EXPECT_EQ(time_left(10, 30, 1.0), "about 3.0 s left");
    EXPECT_EQ(time_left(1, 0, 5.0), "about 0.0 s left");
    EXPECT_EQ(time_left(4, 1, 39.76), "about 9.9 s left");
    EXPECT_EQ(time_left(4, 1, 39.84), "about 10 s left");
    EXPECT_EQ(time_left(1, 2, 60.0), "about 2 min left");
    EXPECT_EQ(time_left(2, 100, 300.0), "about 4.2 h left");
    EXPECT_EQ(time_left(1, 2, 3.0, true), "at least 6.0 s left");
}

} // namespace
} // namespace bench
