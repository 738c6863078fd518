#include "expect_usage_error.h"
#include "text/component.h"
#include "text/parse.h"
#include "text/words.h"

#include <gtest/gtest.h>
#include <limits>
#include <map>

namespace bench {
namespace {

TEST(Names, SplitKeepsEmptyParts) {
    EXPECT_EQ(split("a,,b,"), (std::vector<std::string>{"a", "", "b", ""}));
    EXPECT_EQ(split(""), std::vector<std::string>{""});
}

TEST(Names, UnknownOnesAndOnesGivenTwiceAreRefused) {
    EXPECT_NO_THROW(check_names("colour", {"red", "blue"}, {"blue", "green", "red"}));
    const auto refused = [](const std::vector<std::string> &names, const std::vector<std::string> &said) {
        expect_usage_error([&] { check_names("colour", names, {"red", "blue"}); }, said);
    };
    refused({"red", "pink"}, {"unknown colour 'pink'", "choose one of red, blue"});
    refused({"red", "red"}, {"'red' is given twice"});
}

TEST(Names, CommasInParenthesesSeparateNothing) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(split_outside_parentheses("a,b"), (Names{"a", "b"}));
    EXPECT_EQ(split_outside_parentheses("a(x=1,o=b(y=2,z=3)),c"), (Names{"a(x=1,o=b(y=2,z=3))", "c"}));
    EXPECT_EQ(split_outside_parentheses("a,"), (Names{"a", ""}));
    EXPECT_EQ(split_outside_parentheses("a(x,b"), (Names{"a(x,b"})); // for the caller to refuse
    EXPECT_EQ(split_outside_parentheses("a),b"), (Names{"a)", "b"}));
}

using Sizes = std::vector<std::uint64_t>;

TEST(Sizes, AreNumbersAndRangesOfPowersOfTwo) {
    EXPECT_EQ(parse_sizes("100"), Sizes({100}));
    EXPECT_EQ(parse_sizes("3K,1M,2G"), Sizes({3072, 1048576, 2147483648}));
    EXPECT_EQ(parse_sizes("8:64"), Sizes({8, 16, 32, 64}));
    EXPECT_EQ(parse_sizes("8:64K").size(), 14U);
    EXPECT_EQ(parse_sizes("8:64K").back(), 65536U);
    EXPECT_EQ(parse_sizes("16:16"), Sizes({16}));
    EXPECT_EQ(parse_sizes("1M,8:16,100"), Sizes({1048576, 8, 16, 100}));
    EXPECT_EQ(parse_sizes("18446744073709551615").front(), UINT64_MAX);
}

TEST(Sizes, WhatIsNoSizeIsRefused) {
    for (const char *text : {"", "0", "K", "8k", "8KB", "8 ", "-8", "+8", "0x8", "1.5K", "8,", ",8", "8:", ":8",
                             "8:16:32", "18446744073709551616", "18014398509481984K"}) {
        SCOPED_TRACE(text);
        expect_usage_error([&] { parse_sizes(text); }, {"is not a message size", "8:64K"});
    }
    const auto refused = [](const char *text, const std::vector<std::string> &said) {
        expect_usage_error([&] { parse_sizes(text); }, said);
    };
    refused("64:8", {"'64:8' is empty"});
    refused("8:100", {"'8:100'", "powers of two"});
    refused("8:64,32", {"32 is given twice"});
    refused("8,16:X", {"'16:X'"}); // the whole token
}

TEST(Pairs, AreParsedInOrder) {
    EXPECT_EQ(parse_pairs("0:1,2:0", 3), (std::vector<Pair>{{0, 1}, {2, 0}}));
    EXPECT_EQ(parse_pairs("0:1,1:0", 2).size(), 2U); // the other direction is another pair
    EXPECT_EQ(describe_pair(Pair{2, 0}), "2:0");
}

TEST(Pairs, WhatIsNoPairIsRefused) {
    for (const char *text :
         {"", "0", "0:", ":1", "0:3", "3:0", "1:1", "0:1:2", "0:-1", "0:1,", "0: 1", "a:b", "0:1x"}) {
        SCOPED_TRACE(text);
        expect_usage_error([&] { parse_pairs(text, 3); }, {"--pairs cannot contain", "ranks from 0 to 2, e.g. 0:1"});
    }
    expect_usage_error([] { parse_pairs("0:1,0:1", 3); }, {"pair '0:1' is given twice"});
    expect_usage_error([] { parse_pairs("0:1", 1); }, {"there is only one", "mpirun -n 2"});
}

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
    EXPECT_EQ(utf8_prefix("ab\u20ac", 5), "ab\u20ac");
    EXPECT_EQ(utf8_prefix("ab\u20ac", 4), "ab");
    EXPECT_EQ(utf8_prefix("ab\u20ac", 2), "ab");
    EXPECT_EQ(utf8_prefix("\u20ac", 1), "");
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

const std::vector<ComponentInfo> registry = {
    {"plain", "without parameters", "", {}},
    {"window",
     "with all kinds of them",
     "",
     {{"size", "auto", "of a window", ComponentValues::duration(1e-9, 1.0)},
      {"growth", "2", "factor", ComponentValues::real(1, 10)},
      {"count", "3", "number", ComponentValues::whole(1, 100)},
      {"layout", "blocked", "order", ComponentValues::choice({"blocked", "alternating"})}}},
    {"trace", "with one that must be given", "", {{"file", "", "path", ComponentValues::text()}}}};

Component parse(const std::string &text) { return parse_component("thing", text, registry); }

TEST(Component, DefaultsHold) {
    const Component component = parse("window");
    EXPECT_EQ(component.name(), "window");
    EXPECT_EQ(component.text(), "window");
    EXPECT_EQ(component.full_text(), "window(size=auto,growth=2,count=3,layout=blocked)");
    EXPECT_TRUE(component.is_auto("size"));
    EXPECT_DOUBLE_EQ(component.real("growth"), 2.0);
    EXPECT_EQ(component.whole("count"), 3);
    EXPECT_EQ(component.word("layout"), "blocked");
}

TEST(Component, TextIsTheShortestAndOnlyOne) {
    const Component component = parse("window(layout=alternating,growth=2.0,size=0.05ms)");
    EXPECT_EQ(component.text(), "window(size=50us,layout=alternating)");
    EXPECT_DOUBLE_EQ(component.seconds("size"), 50e-6);
    EXPECT_EQ(parse(component.text()).text(), component.text());
    EXPECT_EQ(parse(component.full_text()).text(), component.text());
    EXPECT_EQ(parse("window(size=auto)").text(), "window");
    EXPECT_EQ(parse("trace(file=a/b.txt)").text(), "trace(file=a/b.txt)");
}

TEST(Component, DurationsAreExact) {
    EXPECT_EQ(parse_duration("x", "50us"), 50e-6);
    EXPECT_EQ(parse_duration("x", "1500ns"), 1.5e-6);
    EXPECT_EQ(parse_duration("x", "2s"), 2.0);
    EXPECT_EQ(parse_duration("x", "0"), 0.0);
    for (const char *text : {"50", "us", "-1us", "1h", "", "1 us", "infs"}) {
        SCOPED_TRACE(text);
        expect_usage_error([&] { parse_duration("--delay", text); }, {"--delay", "50us"});
    }
}

TEST(Component, FreeTextIsTakenAsItIs) {
    const Component component = Component::with_free_text("operation", "./my_op.so(ring, 4 (four) segments)", "my_op");
    EXPECT_EQ(component.name(), "my_op");
    EXPECT_EQ(component.text(), "my_op(ring, 4 (four) segments)");
    EXPECT_EQ(component.full_text(), component.text());
    EXPECT_EQ(component.word("parameters"), "ring, 4 (four) segments");
    for (const char *without : {"./my_op.so", "./my_op.so()"}) {
        EXPECT_EQ(Component::with_free_text("operation", without, "my_op").text(), "my_op");
        EXPECT_EQ(Component::with_free_text("operation", without, "my_op").word("parameters"), "");
    }
    for (const char *open : {"./my_op.so(", "./my_op.so(a", "./my_op.so(a)b"}) {
        SCOPED_TRACE(open);
        expect_usage_error([&] { Component::with_free_text("operation", open, "my_op"); },
                           {"operation", "parenthesis"});
    }
}

TEST(Component, ListsAreSplitOutsideParentheses) {
    const std::vector<Component> components =
        parse_components("thing", "plain,window(size=1us,count=4),window", registry);
    ASSERT_EQ(components.size(), 3U);
    EXPECT_EQ(components[1].text(), "window(size=1us,count=4)");
}

TEST(Component, WhatIsWrongIsNamedAndWhatIsValid) {
    const auto refused = [](const std::string &text, const std::vector<std::string> &said) {
        SCOPED_TRACE(text);
        expect_usage_error([&] { parse_components("thing", text, registry); }, said);
    };
    refused("nothing", {"unknown thing 'nothing'", "plain, window, trace"});
    refused("", {"unknown thing ''", "plain"});
    refused("plain(x=1)", {"plain takes no parameters"});
    refused("window(x=1)", {"unknown parameter 'x'", "size, growth, count, layout"});
    refused("window(size)", {"size has no value"});
    refused("window(size=f(1,g(2,3)),count=4)", {"size cannot be 'f(1,g(2,3))'"});
    refused("window(size=5)", {"size cannot be '5'", "auto, or 1ns to 1s"});
    refused("window(size=2s)", {"size cannot be '2s'", "1ns to 1s"});
    refused("window(growth=0.5)", {"growth cannot be '0.5'", "1 to 10"});
    refused("window(growth=auto)", {"growth cannot be 'auto'"});
    refused("window(growth=nan)", {"growth cannot be 'nan'"});
    refused("window(count=2.5)", {"count cannot be '2.5'", "an integer from 1 to 100"});
    refused("window(layout=odd)", {"layout cannot be 'odd'", "blocked, alternating"});
    refused("window(count=2,count=3)", {"count is given twice"});
    refused("window(count=2", {"parenthesis"});
    refused("window(count=2)x", {"parenthesis"});
    refused("trace", {"parameter file is required"});
    refused("trace(file=)", {"file cannot be ''"});
    refused("window(growth=2),window", {"'window' is given twice"});
}

const std::vector<std::string> names = {"allreduce", "iallreduce", "allgather",   "alltoall",      "barrier",
                                        "bcast",     "bcast_init", "ibcast",      "ping_pong",     "reduce",
                                        "harmonize", "linear",     "mpi_barrier", "bcast_barrier", "reduce_scatter",
                                        "--warmup",  "--output",   "--quiet",     "root"};

TEST(Suggestion, IsTheNameThatWasMeant) {
    const std::map<std::string, std::string> meant = {
        {"allreduse", "allreduce"}, {"osu_allreduce", "allreduce"},
        {"latency", "ping_pong"},   {"osu_latency", "ping_pong"},
        {"harmonise", "harmonize"}, {"MPI_Allreduce", "allreduce"},
        {"IMB-Bcast", "bcast"},     {"bcats", "bcast"},
        {"ibcats", "ibcast"},       {"rot", "root"},
        {"--warmpu", "--warmup"},   {"alltoal", "alltoall"},
        {"lniear", "linear"},       {"MPI_Reduce_scatter", "reduce_scatter"}};
    for (const auto &[word, name] : meant) {
        EXPECT_EQ(nearest(word, names), name) << word;
    }
    for (const std::string word : {"xyz", "", "-", "8:64K", "fft", "osu_"}) {
        EXPECT_EQ(nearest(word, names), "") << word;
    }
}

TEST(Suggestion, OfANameWithASlipIsThatName) {
    for (const std::string &name : names) {
        for (std::size_t i = 2; i + 1 < name.size(); ++i) {
            std::string left_out = name;
            left_out.erase(i, 1);
            std::string swapped = name;
            std::swap(swapped[i], swapped[i + 1]);
            for (const std::string &word : {left_out, swapped}) {
                EXPECT_EQ(nearest(word, names), name) << word;
            }
        }
    }
}

TEST(Suggestion, OfAnOptionOfAnotherBenchmarkNamesOurs) {
    EXPECT_EQ(explain_foreign_option("-i"), "OSU's -i is -r here");
    EXPECT_EQ(explain_foreign_option("-x"), "OSU's -x is --warmup N here");
    EXPECT_EQ(explain_foreign_option("-np"), "mpirun's -np is an option of the launcher, e.g. mpirun -n 4, here");
    EXPECT_EQ(explain_foreign_option("-r"), "");
}

} // namespace
} // namespace bench
