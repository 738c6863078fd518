#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mpi.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The ranks that take part: a duplicate of MPI_COMM_WORLD that returns errors instead of aborting.
class Communicator {
public:
    Communicator();
    ~Communicator();
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    MPI_Comm handle() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    bool is_root() const { return rank_ == 0; }

    /// Collective. Rank 0 runs `work`; all ranks return its result. If it throws, all ranks throw Error::everywhere.
    long on_root(const std::function<long()> &work) const;

    /// Collective. Texts or values of all ranks, in order, at rank 0; nothing elsewhere. Gather those of a rank in one
    /// call: each call costs rank 0 some messages.
    template <std::size_t N>
    std::vector<std::array<std::string, N>> gather(const std::array<std::string, N> &texts) const {
        return in_arrays<N>(gather_texts(texts));
    }
    template <std::size_t N> std::vector<std::array<double, N>> gather(const std::array<double, N> &values) const {
        return in_arrays<N>(gather_values(values));
    }
    std::vector<std::string> gather(const std::string &text) const { return gather_texts({&text, 1}); }

private:
    std::vector<std::string> gather_texts(std::span<const std::string> texts) const;
    std::vector<double> gather_values(std::span<const double> values) const;

    template <std::size_t N, typename T> static std::vector<std::array<T, N>> in_arrays(std::vector<T> flat) {
        std::vector<std::array<T, N>> arrays(flat.size() / N);
        for (std::size_t i = 0; i < flat.size(); ++i) {
            arrays[i / N][i % N] = std::move(flat[i]);
        }
        return arrays;
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
};

} // namespace bench
