#include "text/component.h"

#include "expect_usage_error.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

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

} // namespace
} // namespace bench
