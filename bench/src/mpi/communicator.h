#pragma once

#include <functional>
#include <mpi.h>
#include <string>
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

    /// Collective. The strings of all ranks, in order, at rank 0; nothing elsewhere.
    std::vector<std::string> gather(const std::string &text) const;
    std::vector<double> gather(double value) const;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
};

} // namespace bench
