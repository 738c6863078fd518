#include "planned_delays.h"

#include "expect_usage_error.h"
#include "names.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace bench {
namespace {

std::shared_ptr<const ArrivalPattern> make_pattern(const std::string &text, int ranks) {
    const Part part = parse_part("arrival pattern", text, all_patterns());
    const std::vector<int> nodes(static_cast<std::size_t>(ranks), 0);
    return find_by_name(all_patterns(), part.name()).make({part, ranks, nodes, 1, [](const std::string &) {
                                                               return std::string();
                                                           }});
}

TEST(PlannedDelays, AreSharesOfTheLargest) {
    const auto pattern = make_pattern("one_late(rank=1)", 3);
    EXPECT_EQ(PlannedDelays(pattern, 2.0, 1).of_calls(0, 2), (std::vector<double>{2.0, 2.0}));
    EXPECT_EQ(PlannedDelays(pattern, 2.0, 0).of_calls(5, 1), (std::vector<double>{0.0}));
}

TEST(PlannedDelays, ARankThatIsNotThereIsRefused) {
    expect_usage_error([] { make_pattern("one_late(rank=3)", 3); }, {"one_late(rank=3)", "0 to 2"});
}

TEST(PlannedDelays, PlacesArePermutedByTheSeed) {
    const std::vector<int> places = permuted_places(64, 7);
    EXPECT_EQ(places, permuted_places(64, 7));
    EXPECT_NE(places, permuted_places(64, 8));
    std::vector<int> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> all(64);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
    EXPECT_NE(places, all);
}

} // namespace
} // namespace bench
