#include "mpi/everywhere.h"

#include "mpi/host_name.h"
#include "mpi/mpi_check.h"
#include "text/error.h"

#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unordered_map>

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
    std::unordered_map<std::string, int> known;
    for (std::size_t rank = 0; rank < names.size(); ++rank) { // at rank 0 alone
        numbers[rank] = known.emplace(names[rank], static_cast<int>(known.size())).first->second;
    }
    check(MPI_Bcast(numbers.data(), comm.size(), MPI_INT, 0, comm.handle()), "MPI_Bcast");
    return numbers;
}

} // namespace bench
