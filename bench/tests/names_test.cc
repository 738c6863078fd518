#include "text/names.h"

#include "expect_usage_error.h"

namespace bench {
namespace {

TEST(Names, SplitKeepsEmptyParts) {
    EXPECT_EQ(split("a,,b,"), (std::vector<std::string>{"a", "", "b", ""}));
    EXPECT_EQ(split(""), std::vector<std::string>{""});
}

TEST(Names, AcceptsKnownOnes) { EXPECT_NO_THROW(check_names("colour", {"red", "blue"}, {"blue", "green", "red"})); }

TEST(Names, RefusesUnknownOnesAndSaysWhatIsValid) {
    expect_usage_error(
        [] {
            check_names("colour", {"red", "pink"}, {"red", "blue"});
        },
        {"unknown colour 'pink'", "choose one of red, blue"});
}

TEST(Names, RefusesOnesGivenTwice) {
    expect_usage_error([] { check_names("colour", {"red", "red"}, {"red"}); }, {"'red' is given twice"});
}

TEST(Names, CommasInParenthesesSeparateNothing) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(split_outside_parentheses("a,b"), (Names{"a", "b"}));
    EXPECT_EQ(split_outside_parentheses("a(x=1,o=b(y=2,z=3)),c"), (Names{"a(x=1,o=b(y=2,z=3))", "c"}));
    EXPECT_EQ(split_outside_parentheses("a,"), (Names{"a", ""}));
    EXPECT_EQ(split_outside_parentheses("a(x,b"), (Names{"a(x,b"})); // for the caller to refuse
    EXPECT_EQ(split_outside_parentheses("a),b"), (Names{"a)", "b"}));
}

} // namespace
} // namespace bench
