#include "mpi/everywhere.h"

#include "mpi/mpi_check.h"
#include "mpi/names.h"
#include "text/error.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <unordered_map>
#include <vector>

namespace bench {
namespace {

// Delays of 1,000 ranks in 25,000 calls.
constexpr std::size_t longest_file = std::size_t{256} << 20U;

} // namespace

std::string read_everywhere(const Communicator &comm, const std::string &path) {
    std::string text;
    const long length = comm.on_root([&] {
        if (std::error_code error; std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path)) {
            throw Error::here(fmt::format("'{}' is not a regular file; give one", path));
        }
        std::ifstream file(path);
        std::vector<char> part(1 << 16);
        do {
            file.read(part.data(), static_cast<std::streamsize>(part.size()));
            text.append(part.data(), static_cast<std::size_t>(file.gcount()));
        } while (file && text.size() <= longest_file);
        if (text.empty()) { // no file that is asked for is
            throw Error::here(fmt::format("'{}' cannot be read, or is empty", path));
        }
        if (text.size() > longest_file) {
            throw Error::here(fmt::format("'{}' has more than {} MiB; give a smaller file", path, longest_file >> 20U));
        }
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

std::uint64_t choose_seed(const Communicator &comm, const std::optional<std::uint64_t> &given) {
    return given ? *given : static_cast<std::uint64_t>(comm.on_root([] {
        return static_cast<long>(std::random_device{}() % 1'000'000);
    }));
}

} // namespace bench
