// The benchmark's communicator, its error checks and small collectives (communicator.h).
#include "mpi/communicator.h"

#include "mpi/library.h"
#include "text/error.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bench {

namespace {

// Buffer for an error text: MPICH 4.0 writes beyond MPI_MAX_ERROR_STRING if an error has passed through many of its
// functions.
constexpr std::size_t error_text_size = std::size_t{8} * MPI_MAX_ERROR_STRING;

} // namespace

std::string mpi_error_text(int code) {
    std::vector<char> text(error_text_size, '\0');
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
        return fmt::format("error code {}", code);
    }
    std::string line(text.data());
    std::ranges::replace(line, '\n', ' ');
    return line;
}

void throw_mpi_error(int code, const char *call) {
    throw Error::here(fmt::format("{} failed: {}", call, mpi_error_text(code)));
}

void check_everywhere(const Communicator &comm, int code, const std::string &what) {
    int failed = code == MPI_SUCCESS ? comm.size() : comm.rank(); // the lowest rank that failed; the size: none
    check(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, comm.handle()), "MPI_Allreduce");
    if (failed == comm.size()) {
        return;
    }
    // Only rank 0 prints the message, so it needs the text of the rank that failed.
    std::string text = comm.rank() == failed ? mpi_error_text(code) : "";
    int length = static_cast<int>(text.size());
    check(MPI_Bcast(&length, 1, MPI_INT, failed, comm.handle()), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(text.data(), length, MPI_CHAR, failed, comm.handle()), "MPI_Bcast");
    throw Error::everywhere(fmt::format("{}: {}", what, text));
}

Communicator::Communicator() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    set_up();
}

Communicator::Communicator(const Communicator &ranks, int group) {
    check(MPI_Comm_split(ranks.handle(), group, ranks.rank(), &comm_), "MPI_Comm_split");
    set_up();
}

void Communicator::set_up() {
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
    std::string joined; // each text ends with a null byte
    for (const std::string &text : texts) {
        joined.append(text.c_str(), std::strlen(text.c_str()) + 1);
    }
    // All ranks send blocks of the largest size: MPI libraries gather equal blocks in a tree, but receive unequal
    // blocks from one rank after another.
    int length = static_cast<int>(joined.size());
    check(MPI_Allreduce(MPI_IN_PLACE, &length, 1, MPI_INT, MPI_MAX, comm_), "MPI_Allreduce");
    const auto block = static_cast<std::size_t>(length);
    joined.resize(block, '\0');
    const auto ranks = static_cast<std::size_t>(is_root() ? size_ : 0);
    std::string all(ranks * block, '\0');
    check(MPI_Gather(joined.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, comm_), "MPI_Gather");

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

namespace {

// Bytes; enough for the delays of 1,000 ranks in 25,000 calls.
constexpr std::size_t max_file_size = std::size_t{256} << 20U;

} // namespace

std::string read_everywhere(const Communicator &comm, const std::string &path) {
    std::string text;
    const long length = comm.on_root([&] {
        if (std::error_code error; std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path)) {
            throw Error::here(fmt::format("'{}' is not a regular file; give one", path));
        }
        std::ifstream file(path);
        std::vector<char> chunk(1 << 16);
        do {
            file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
            text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
        } while (file && text.size() <= max_file_size);
        if (text.size() > max_file_size) {
            throw Error::here(
                fmt::format("'{}' has more than {} MiB; give a smaller file", path, max_file_size >> 20U));
        }
        if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || text.find('\0') != std::string::npos) {
            throw Error::here(fmt::format("'{}' is not UTF-8, but UTF-16 or binary; save it as UTF-8", path));
        }
        constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
        if (text.starts_with(byte_order_mark)) {
            text.erase(0, byte_order_mark.size());
        }
        if (text.empty()) { // every file that is read here needs contents
            throw Error::here(fmt::format("'{}' cannot be read, or is empty", path));
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
    for (std::size_t rank = 0; rank < names.size(); ++rank) { // names is empty except on rank 0
        numbers[rank] = known.emplace(names[rank], static_cast<int>(known.size())).first->second;
    }
    check(MPI_Bcast(numbers.data(), comm.size(), MPI_INT, 0, comm.handle()), "MPI_Bcast");
    return numbers;
}

std::uint64_t choose_seed(const Communicator &comm, const std::optional<std::uint64_t> &seed) {
    return seed ? *seed : static_cast<std::uint64_t>(comm.on_root([] {
        return static_cast<long>(std::random_device{}() % 1'000'000);
    }));
}

} // namespace bench
