#include "text/sizes.h"

#include "expect_usage_error.h"

namespace bench {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(Sizes, OneSize) { EXPECT_EQ(parse_sizes("100"), Sizes({100})); }

TEST(Sizes, SuffixesAreFactorsOf1024) { EXPECT_EQ(parse_sizes("3K,1M,2G"), Sizes({3072, 1048576, 2147483648})); }

TEST(Sizes, RangeIsPowersOfTwoWithBothEnds) {
    EXPECT_EQ(parse_sizes("8:64"), Sizes({8, 16, 32, 64}));
    EXPECT_EQ(parse_sizes("8:64K").size(), 14U);
    EXPECT_EQ(parse_sizes("8:64K").back(), 65536U);
    EXPECT_EQ(parse_sizes("16:16"), Sizes({16}));
}

TEST(Sizes, ListsKeepTheirOrderAndMayHoldRanges) {
    EXPECT_EQ(parse_sizes("1M,8:16,100"), Sizes({1048576, 8, 16, 100}));
}

TEST(Sizes, LargestSizeIsKept) { EXPECT_EQ(parse_sizes("18446744073709551615").front(), UINT64_MAX); }

TEST(Sizes, RefusesWhatIsNoSize) {
    for (const char *text : {"", "0", "K", "8k", "8KB", "8 ", "-8", "+8", "0x8", "1.5K", "8,", ",8", "8:", ":8",
                             "8:16:32", "18446744073709551616", "18014398509481984K"}) {
        SCOPED_TRACE(text);
        expect_usage_error([&] { parse_sizes(text); }, {"is not a message size", "8:64K"});
    }
}

TEST(Sizes, RefusesEmptyRanges) {
    expect_usage_error([] { parse_sizes("64:8"); }, {"'64:8' is empty"});
}

TEST(Sizes, RefusesRangesWhoseEndsAreNoPowersOfTwo) {
    expect_usage_error([] { parse_sizes("8:100"); }, {"'8:100'", "powers of two"});
}

TEST(Sizes, RefusesASizeGivenTwice) {
    expect_usage_error([] { parse_sizes("8:64,32"); }, {"32 is given twice"});
}

TEST(Sizes, NamesTheWholeToken) {
    expect_usage_error([] { parse_sizes("8,16:X"); }, {"'16:X'"});
}

} // namespace
} // namespace bench
