#include "text/csv_field.h"

#include <gtest/gtest.h>

#include <limits>

namespace bench {
namespace {

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
