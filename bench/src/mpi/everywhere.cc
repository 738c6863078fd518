#include "mpi/everywhere.h"

#include "mpi/host_name.h"
#include "mpi/mpi_check.h"
#include "text/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace bench {

std::string read_everywhere(const Communicator &comm, const std::string &path) {
    std::string text;
    const long length = comm.on_root([&] {
        std::ifstream file(path);
        std::stringstream content;
        if (!(content << file.rdbuf())) { // nothing read is a failure as well: no file that is asked for is empty
            throw Error::here(fmt::format("'{}' cannot be read, or is empty", path));
        }
        text = content.str();
        return static_cast<long>(text.size());
    });
    text.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, comm.handle()), "MPI_Bcast");
    return text;
}

std::vector<int> number_nodes(const Communicator &comm) {
    const std::vector<std::string> names = comm.gather(host_name());
    std::vector<int> numbers(static_cast<std::size_t>(comm.size()));
    int hosts = 0;
    for (std::size_t rank = 0; rank < names.size(); ++rank) { // at rank 0 alone
        const auto before = std::find(names.begin(), names.end(), names[rank]);
        const auto first = static_cast<std::size_t>(before - names.begin());
        numbers[rank] = first == rank ? hosts++ : numbers[first];
    }
    check(MPI_Bcast(numbers.data(), comm.size(), MPI_INT, 0, comm.handle()), "MPI_Bcast");
    return numbers;
}

} // namespace bench
