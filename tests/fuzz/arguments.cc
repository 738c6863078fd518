// Command lines of downbeat-bench, a word per line: accepted, or refused in one line.
#include "run/options.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) { return MPI_Init(argc, argv); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    constexpr int ranks = 4;
    std::vector<std::string> words = {"downbeat-bench"};
    std::string word;
    for (std::size_t i = 0; i <= size; ++i) {
        if (i == size || data[i] == '\n') {
            words.push_back(std::exchange(word, ""));
        } else {
            word += static_cast<char>(data[i]);
        }
    }
    std::vector<char *> argv;
    for (std::string &each : words) {
        // As main() does. A word of a command line ends at a 0.
        if (bench::find_unprintable(each) || std::strlen(each.c_str()) != each.size()) {
            return 0;
        }
        argv.push_back(each.data());
    }
    const int argc = static_cast<int>(argv.size());
    argv.push_back(nullptr);
    try {
        bench::parse_options(argc, argv.data(), ranks, {{"clock", "clocks"}, {"skew", "skews"}});
    } catch (const bench::Error &error) {
        if (error.what()[0] == '\0' || std::strchr(error.what(), '\n') != nullptr) {
            std::abort();
        }
    }
    return 0;
}
