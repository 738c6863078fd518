#include "operations/elements.h"

#include "expect_usage_error.h"
#include "text/words.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <mpi.h>
#include <vector>

namespace bench {
namespace {

// Enough for every rank to decide some elements, even if a single rank decides each, e.g. for a minimum.
constexpr std::uint64_t count = 400;

Component component_of(const std::string &text) {
    return {"operation", text, {"reduction", "", "", elements_parameters(true)}};
}

std::vector<std::string> choices(const std::string &parameter) {
    for (const ComponentParameter &candidate : elements_parameters(true)) {
        if (candidate.name == parameter) {
            return candidate.values.choices;
        }
    }
    return {};
}

Component combination(const std::string &type, const std::string &op) {
    return component_of("reduction(type=" + type + ",op=" + op + ")");
}

/// Types with the operations that go with them.
std::vector<std::pair<std::string, std::string>> combinations() {
    std::vector<std::pair<std::string, std::string>> valid;
    for (const std::string &type : choices("type")) {
        for (const std::string &op : choices("op")) {
            try {
                element_size(combination(type, op), true);
                valid.emplace_back(type, op);
            } catch (const Error &) {
            }
        }
    }
    return valid;
}

/// A buffer as an operation leaves it.
class Filled {
public:
    Filled(const Elements &elements, const Piece &piece) : elements_(elements), bytes_(size(elements, piece)) {
        elements.poison(bytes_.data(), piece.at + piece.count);
        elements.write(bytes_.data(), piece);
    }
    bool holds(const Piece &piece) const { return !elements_.compare(bytes_.data(), piece); }
    unsigned char *data() { return bytes_.data(); }
    unsigned char *element(std::uint64_t i) { return bytes_.data() + i * elements_.extent(); }

private:
    static std::size_t size(const Elements &elements, const Piece &piece) {
        return (piece.at + piece.count) * elements.extent();
    }
    const Elements &elements_;
    std::vector<unsigned char> bytes_;
};

TEST(Elements, EveryTypeHasReductionsAndEveryReductionATypeAndAllHoldWhatIsWritten) {
    EXPECT_EQ(combinations().size(), 8 * 12 + 5 + 3 * 6 + 2 * 4 + 5 * 2 + 2);
    for (const auto &[type, op] : combinations()) {
        const auto elements = make_elements(combination(type, op), true, 0, 5);
        const Piece piece{2, count, 7, 0, 4};
        EXPECT_TRUE(Filled(*elements, piece).holds(piece)) << elements->name();
    }
}

TEST(Elements, WhatMpiDoesNotCombineIsRefused) {
    expect_usage_error([] { element_size(combination("float", "bxor"), true); },
                       {"op bxor cannot combine type float; choose one of sum, prod, min, max, user, user_ordered"});
    expect_usage_error([] { element_size(combination("vector", "sum"), true); }, {"choose one of user, user_ordered"});
    expect_usage_error([] { element_size(component_of("reduction(op=minloc)"), true); }, {"cannot combine type auto"});
}

TEST(Elements, CopiesThatAreShiftedSwappedMissingOrRepeatedAreFound) {
    for (const std::string &type : choices("type")) {
        const auto elements = make_elements(component_of("reduction(type=" + type + ")"), false, 0, 5);
        for (int rank = 0; rank < 300; ++rank) {
            const Piece right{0, count, 0, rank, rank};
            const Piece shifted{0, count, 1, rank, rank};
            const Piece next_block{0, count, count, rank, rank};
            const Piece other{0, count, 0, rank + 1, rank + 1};
            EXPECT_FALSE(Filled(*elements, right).holds(shifted)) << type;
            EXPECT_FALSE(Filled(*elements, right).holds(next_block)) << type;
            EXPECT_FALSE(Filled(*elements, right).holds(other)) << type;
        }
    }
}

TEST(Elements, AnyElementThatDoesNotArriveIsFound) {
    for (const auto &[type, op] : combinations()) {
        const auto elements = make_elements(combination(type, op), true, 0, 8);
        for (const int last : {0, 7}) {
            const Piece piece{0, count, 0, 0, last};
            for (std::uint64_t i = 0; i < count; ++i) {
                Filled buffer(*elements, piece);
                elements->poison(buffer.element(i), 1);
                EXPECT_FALSE(buffer.holds(piece)) << elements->name() << ", element " << i;
            }
        }
    }
}

/// The contributions of some ranks combined by MPI, in that order.
std::vector<unsigned char> combine(const Elements &elements, const std::vector<int> &ranks) {
    const std::uint64_t bytes = count * elements.extent();
    std::vector<unsigned char> result(bytes);
    elements.poison(result.data(), count);
    elements.write(result.data(), {0, count, 0, ranks.back(), ranks.back()});
    for (auto rank = ranks.rbegin() + 1; rank != ranks.rend(); ++rank) {
        std::vector<unsigned char> lower(bytes);
        elements.poison(lower.data(), count);
        elements.write(lower.data(), {0, count, 0, *rank, *rank});
        EXPECT_EQ(
            MPI_Reduce_local(lower.data(), result.data(), static_cast<int>(count), elements.type(), elements.op()),
            MPI_SUCCESS);
    }
    return result;
}

// MPI's own operations are the truth. Open MPI 4.1.4 saturates, MPICH overflows: neither must come to it.
TEST(Elements, MpiCombinesToWhatIsExpectedInAnyOrderAndEveryRankIsMissed) {
    for (const auto &[type, op] : combinations()) {
        const auto elements = make_elements(combination(type, op), true, 0, 8);
        const Piece all{0, count, 0, 0, 7};
        std::vector<int> ranks = {0, 1, 2, 3, 4, 5, 6, 7};
        EXPECT_FALSE(elements->compare(combine(*elements, ranks).data(), all)) << elements->name();
        for (int missing = 0; missing < 8; ++missing) {
            std::vector<int> others = ranks;
            others.erase(others.begin() + missing);
            EXPECT_TRUE(elements->compare(combine(*elements, others).data(), all)) << elements->name() << missing;
        }
        std::reverse(ranks.begin(), ranks.end());
        const bool ordered = op == "user_ordered";
        EXPECT_EQ(elements->compare(combine(*elements, ranks).data(), all).has_value(), ordered) << elements->name();
    }
}

TEST(Elements, ThousandsOfRanksStayWithinTheRange) {
    constexpr int many = 1000;
    for (const auto &[type, op] : combinations()) {
        const auto elements = make_elements(combination(type, op), true, 0, many);
        std::vector<int> ranks;
        for (int rank = 0; rank < many; ++rank) {
            ranks.push_back(rank);
        }
        EXPECT_FALSE(elements->compare(combine(*elements, ranks).data(), {0, count, 0, 0, many - 1}))
            << elements->name();
    }
}

TEST(Elements, GapsMustStayUntouched) {
    const auto elements = make_elements(component_of("reduction(type=vector)"), false, 0, 2);
    EXPECT_EQ(elements->size(), 16U);
    EXPECT_EQ(elements->extent(), 32U);
    const Piece piece{0, count, 0, 1, 1};
    for (const std::uint64_t gap : {8U, 15U, 24U, 31U}) {
        Filled buffer(*elements, piece);
        EXPECT_TRUE(buffer.holds(piece));
        buffer.element(3)[gap] ^= 1;
        EXPECT_EQ(elements->compare(buffer.data(), piece), "element 3 is written to between its parts");
    }
}

TEST(Elements, WhatGoesOnInPlaceStaysAsItIs) {
    for (const auto &[type, op] : combinations()) {
        const auto elements = make_elements(combination(type, op), true, 0, 2);
        std::vector<unsigned char> first(count * elements->extent());
        elements->settle(first.data(), count);
        const std::vector<unsigned char> before = first;
        std::vector<unsigned char> second = first;
        EXPECT_EQ(
            MPI_Reduce_local(first.data(), second.data(), static_cast<int>(count), elements->type(), elements->op()),
            MPI_SUCCESS);
        EXPECT_EQ(second, before) << elements->name();
    }
}

TEST(Elements, AutomaticIsDoubleAsLongAsTheSizeAllows) {
    const Component component = component_of("reduction");
    EXPECT_EQ(make_elements(component, true, 16, 2)->name(), "MPI_DOUBLE MPI_SUM");
    EXPECT_EQ(make_elements(component, true, 12, 2)->name(), "MPI_FLOAT MPI_SUM");
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    MPI_Init(&argc, &argv);
    const int status = RUN_ALL_TESTS();
    MPI_Finalize();
    return status;
}
