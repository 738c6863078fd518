#include "mpi/communicator.h"

#include "mpi/mpi_check.h"
#include "text/error.h"

#include <cstring>

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

std::vector<std::string> Communicator::gather_texts(std::span<const std::string> texts) const {
    std::string mine; // each text ends with a null byte
    for (const std::string &text : texts) {
        mine.append(text.c_str(), std::strlen(text.c_str()) + 1);
    }
    // As long as the longest: all MPI libraries gather equal blocks in a tree, unequal ones one by one.
    int length = static_cast<int>(mine.size());
    check(MPI_Allreduce(MPI_IN_PLACE, &length, 1, MPI_INT, MPI_MAX, comm_), "MPI_Allreduce");
    const auto block = static_cast<std::size_t>(length);
    mine.resize(block, '\0');
    const auto ranks = static_cast<std::size_t>(is_root() ? size_ : 0);
    std::string all(ranks * block, '\0');
    check(MPI_Gather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, comm_), "MPI_Gather");

    std::vector<std::string> all_texts;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const char *begin = all.data() + rank * block;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            begin += all_texts.emplace_back(begin).size() + 1;
        }
    }
    return all_texts;
}

std::vector<double> Communicator::gather_values(std::span<const double> values) const {
    const int count = static_cast<int>(values.size());
    std::vector<double> all(static_cast<std::size_t>(is_root() ? size_ : 0) * values.size());
    check(MPI_Gather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm_), "MPI_Gather");
    return all;
}

} // namespace bench
