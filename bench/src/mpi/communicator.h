// The communicator of the benchmark, errors of MPI calls, and small collectives: gathering texts and numbers at rank 0,
// reading a file on rank 0 for all ranks, numbering the nodes, choosing a seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mpi.h>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The MPI library's text for an error code, on one line: "MPI_ERR_ARG: invalid argument of some other kind".
std::string mpi_error_text(int code);

/// Throws Error::here for an error code that MPI function `call` returned.
void throw_mpi_error(int code, const char *call);

/// Throws Error::here unless MPI function `call` returned MPI_SUCCESS.
inline void check(int code, const char *call) {
    if (code != MPI_SUCCESS) {
        throw_mpi_error(code, call);
    }
}

class Communicator;

/// Collective. Throws Error::everywhere on all ranks unless every rank passes MPI_SUCCESS as `code`. The message is
/// `what` and the error text of the lowest rank that failed.
void check_everywhere(const Communicator &comm, int code, const std::string &what);

/// A duplicate of MPI_COMM_WORLD, or of a group of its ranks, that returns errors instead of aborting.
class Communicator {
public:
    Communicator();
    /// Collective over `ranks`. The ranks that pass the same number `group`, in the same order.
    Communicator(const Communicator &ranks, int group);
    ~Communicator();
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    MPI_Comm handle() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    bool is_root() const { return rank_ == 0; }

    /// Collective. Runs `work` on rank 0 and returns its result on all ranks. If it throws, all ranks throw
    /// Error::everywhere.
    long on_root(const std::function<long()> &work) const;

    /// Collective. Returns the texts or values of all ranks on rank 0, and an empty vector on other ranks. Each call
    /// costs rank 0 several messages, so pass all texts of a rank in one call.
    template <std::size_t N>
    std::vector<std::array<std::string, N>> gather(const std::array<std::string, N> &texts) const {
        return in_arrays<N>(gather_texts(texts));
    }
    template <std::size_t N> std::vector<std::array<double, N>> gather(const std::array<double, N> &values) const {
        return in_arrays<N>(gather_values(values));
    }
    std::vector<std::string> gather(const std::string &text) const { return gather_texts({&text, 1}); }

private:
    /// Lets MPI calls on the communicator return errors, and reads the rank and the size.
    void set_up();
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

/// Collective. Reads a text file on rank 0 and returns its text on all ranks. Throws Error::everywhere if it cannot be
/// read, is empty, or is larger than 256 MiB.
std::string read_everywhere(const Communicator &comm, const std::string &path);

/// Collective. The node of each rank; nodes are numbered from 0 in order of appearance.
std::vector<int> number_nodes(const Communicator &comm);

/// Collective. Returns `seed` if it is set; else a random number below 10^6, which is short enough to type again.
std::uint64_t choose_seed(const Communicator &comm, const std::optional<std::uint64_t> &seed);

/// Owns an MPI info object. It is MPI_INFO_NULL until a key is set.
class Info {
public:
    Info() = default;
    ~Info() {
        if (handle_ != MPI_INFO_NULL) {
            MPI_Info_free(&handle_);
        }
    }
    Info(const Info &) = delete;
    Info &operator=(const Info &) = delete;

    void set(const std::string &key, const std::string &value) {
        if (handle_ == MPI_INFO_NULL) {
            check(MPI_Info_create(&handle_), "MPI_Info_create");
        }
        check(MPI_Info_set(handle_, key.c_str(), value.c_str()), "MPI_Info_set");
    }

    MPI_Info *address() { return &handle_; }
    MPI_Info handle() const { return handle_; }

private:
    MPI_Info handle_ = MPI_INFO_NULL;
};

} // namespace bench
