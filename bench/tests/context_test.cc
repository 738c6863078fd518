#include "context/context.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

TEST(Context, ShortensTheNamesOfMpiLibraries) {
    EXPECT_EQ(short_mpi_library("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
    EXPECT_EQ(short_mpi_library("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7"), "MPICH Version: 4.0.2");
}

TEST(Context, NamesUnknownSettings) {
    Context context;
    context.clock = {{"clock", "tsc"}};
    EXPECT_EQ(clock_setting(context, "clock"), "tsc");
    EXPECT_EQ(clock_setting(context, "sundial"), "unknown");
}

} // namespace
} // namespace bench
