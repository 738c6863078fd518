#pragma once

#include <cstdint>
#include <limits>
#include <mpi.h>
#include <string>

namespace bench {

/// How the bytes of a reduction are taken: MPI_SUM on MPI_DOUBLE where the size is a multiple of 8, else on MPI_FLOAT.
/// Sizes that are no multiple of 4 are refused before.
class Reduction {
public:
    static constexpr std::uint64_t size_divisor = 4;
    // What an int counts of the smaller of the two types.
    static constexpr std::uint64_t max_size = std::uint64_t{std::numeric_limits<int>::max()} * 4;

    explicit Reduction(std::uint64_t size) : doubles_(size % 8 == 0), count_(static_cast<int>(size / width())) {}

    MPI_Datatype datatype() const { return doubles_ ? MPI_DOUBLE : MPI_FLOAT; }
    int count() const { return count_; }
    std::string name() const { return doubles_ ? "MPI_DOUBLE MPI_SUM" : "MPI_FLOAT MPI_SUM"; }

private:
    std::uint64_t width() const { return doubles_ ? 8 : 4; }

    bool doubles_;
    int count_;
};

} // namespace bench
