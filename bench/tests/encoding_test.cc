#include "text/encoding.h"

#include <gtest/gtest.h>
#include <limits>

namespace bench {
namespace {

TEST(Utf8, TextIsAccepted) {
    for (const char *const text : {"", "ring, 4", "\u00e4\u00df", "\u20ac", "\U0001f600", "\u00a0", "\U0010ffff"}) {
        EXPECT_EQ(find_unprintable(text), std::nullopt) << text;
        EXPECT_EQ(printable(text), text);
    }
}

TEST(Utf8, OtherBytesAreFound) {
    // A lone byte, one that is cut off, too long a form, a surrogate, beyond Unicode; controls of one byte and of two.
    for (const char *const bytes : {"\xff", "\xc3", "\xe2\x82", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80", "\x80", "\x1b[31m", "\n", "\x7f", "\xc2\x9b"}) {
        EXPECT_EQ(find_unprintable(std::string("a\u00e4") + bytes), 3U) << printable(bytes);
    }
}

TEST(Utf8, OtherBytesAreMadeVisible) {
    EXPECT_EQ(printable("a\xff\u00e4\x1b[0m\nb\r"), "a\\xff\u00e4\\x1b[0m\nb\\x0d");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
}

TEST(Utf8, CharactersStayWhole) {
    EXPECT_EQ(cut_off("ab\u20ac", 5), "ab\u20ac");
    EXPECT_EQ(cut_off("ab\u20ac", 4), "ab");
    EXPECT_EQ(cut_off("ab\u20ac", 2), "ab");
    EXPECT_EQ(cut_off("\u20ac", 1), "");
}

TEST(CsvField, TextIsQuotedWhereItWouldEndTheField) {
    EXPECT_EQ(csv_field("ring"), "ring");
    EXPECT_EQ(csv_field(""), "");
    EXPECT_EQ(csv_field("ring, 4"), "\"ring, 4\"");
    EXPECT_EQ(csv_field("a \"b\""), "\"a \"\"b\"\"\"");
    EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
}

TEST(CsvField, TextIsNoFormula) {
    for (const char first : {'=', '+', '-', '@'}) {
        EXPECT_EQ(csv_field(first + std::string("cmd|x")), std::string("'") + first + "cmd|x");
    }
    EXPECT_EQ(csv_field("=A1,\"B\""), "\"'=A1,\"\"B\"\"\"");
    EXPECT_EQ(csv_field("\r=A1"), "\"'\r=A1\"");
    EXPECT_EQ(csv_field("a=1"), "a=1"); // a parameter
}

TEST(CsvField, NumbersAreNumbers) {
    EXPECT_EQ(csv_field(-1.5), "-1.5");
    EXPECT_EQ(csv_field(std::int64_t{-3}), "-3");
    EXPECT_EQ(csv_field(std::numeric_limits<double>::quiet_NaN()), "");
}

} // namespace
} // namespace bench
