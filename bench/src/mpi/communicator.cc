#include "mpi/communicator.h"

#include "mpi/mpi_check.h"
#include "text/error.h"

#include <numeric>

namespace bench {

Communicator::Communicator() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

Communicator::~Communicator() { MPI_Comm_free(&comm_); }

long Communicator::on_root(const std::function<long()> &work) const {
    struct {
        long result;
        long failed;
    } outcome = {0, 0};
    std::string message;
    if (is_root()) {
        try {
            outcome.result = work();
        } catch (const std::exception &error) {
            outcome.failed = 1;
            message = error.what();
        }
    }
    check(MPI_Bcast(&outcome, 2, MPI_LONG, 0, comm_), "MPI_Bcast");
    if (outcome.failed != 0) {
        throw Error::everywhere(message);
    }
    return outcome.result;
}

std::vector<std::string> Communicator::gather(const std::string &text) const {
    const auto ranks = static_cast<std::size_t>(is_root() ? size_ : 0);
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(ranks);
    check(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm_), "MPI_Gather");

    std::vector<int> starts(ranks);
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    std::string all(static_cast<std::size_t>(std::accumulate(lengths.begin(), lengths.end(), 0)), '\0');
    check(MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, comm_),
          "MPI_Gatherv");

    std::vector<std::string> texts(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        texts[i] = all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i]));
    }
    return texts;
}

std::vector<double> Communicator::gather(double value) const {
    std::vector<double> values(static_cast<std::size_t>(is_root() ? size_ : 0));
    check(MPI_Gather(&value, 1, MPI_DOUBLE, values.data(), 1, MPI_DOUBLE, 0, comm_), "MPI_Gather");
    return values;
}

} // namespace bench
