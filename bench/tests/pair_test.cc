#include "text/pair.h"

#include "expect_usage_error.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

TEST(Pairs, AreParsedInOrder) {
    EXPECT_EQ(parse_pairs("0:1,2:0", 3), (std::vector<Pair>{{0, 1}, {2, 0}}));
    EXPECT_EQ(describe(Pair{2, 0}), "2:0");
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

TEST(Pairs, TheOtherDirectionIsAnotherPair) { EXPECT_EQ(parse_pairs("0:1,1:0", 2).size(), 2U); }

} // namespace
} // namespace bench
