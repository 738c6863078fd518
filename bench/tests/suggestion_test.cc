#include "text/words.h"

#include <gtest/gtest.h>

#include <map>

namespace bench {
namespace {

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
    EXPECT_EQ(from_elsewhere("-i"), "OSU's -i is -r here");
    EXPECT_EQ(from_elsewhere("-x"), "OSU's -x is --warmup N here");
    EXPECT_EQ(from_elsewhere("-np"), "mpirun's -np is an option of the launcher, e.g. mpirun -n 4, here");
    EXPECT_EQ(from_elsewhere("-r"), "");
}

} // namespace
} // namespace bench
