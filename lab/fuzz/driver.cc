// Runs a fuzz target without libFuzzer: FILE, one input; or FOLDER COUNT [SEED], mutations of the files in it.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

constexpr std::size_t longest = 4096;

std::string read(const std::filesystem::path &path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void run(const std::string &input) {
    // An exact copy: a sanitizer sees reads beyond its end.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

class Mutator {
public:
    Mutator(std::vector<std::string> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

    std::string next() {
        std::string text = seeds_[below(seeds_.size())];
        for (std::size_t times = 1 + below(6); times > 0; --times) {
            change(text);
        }
        text.resize(std::min(text.size(), longest));
        return text;
    }

private:
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

    /// A piece of any seed.
    std::string piece() {
        const std::string &from = seeds_[below(seeds_.size())];
        return from.empty() ? from : from.substr(below(from.size()), 1 + below(24));
    }

    void change(std::string &text) {
        static const std::vector<std::string> odd = {"",
                                                     "(",
                                                     ")",
                                                     ",",
                                                     "=",
                                                     ":",
                                                     "-1",
                                                     "0",
                                                     "1",
                                                     "nan",
                                                     "inf",
                                                     "1e308",
                                                     "1e-400",
                                                     "0x1p9",
                                                     "\n",
                                                     std::string(1, '\0'),
                                                     "9223372036854775808",
                                                     "18446744073709551616",
                                                     "\xff",
                                                     "((((((((",
                                                     "%s",
                                                     "99999999999999999999",
                                                     " ",
                                                     "\t",
                                                     std::string(600, 'a')};
        const std::size_t at = below(text.size() + 1);
        const std::size_t length = std::min(text.size() - at, below(12));
        switch (below(6)) {
        case 0:
            text.replace(at, length, odd[below(odd.size())]);
            break;
        case 1:
            text.insert(at, piece());
            break;
        case 2:
            text.replace(at, length, piece());
            break;
        case 3:
            text.erase(at, length);
            break;
        case 4:
            text.insert(at, text.substr(at, length));
            break;
        default:
            if (at < text.size()) {
                text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
            }
        }
    }

    std::vector<std::string> seeds_;
    std::mt19937_64 random_;
};

std::uint64_t number(const char *text) {
    std::uint64_t value = 0;
    std::from_chars(text, text + std::strlen(text), value);
    return value;
}

} // namespace

int main(int argc, char **argv) {
    if (LLVMFuzzerInitialize != nullptr) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    if (argc == 2 && std::filesystem::is_regular_file(argv[1])) {
        run(read(argv[1]));
        return 0;
    }
    if (argc < 3 || argc > 4 || !std::filesystem::is_directory(argv[1]) || number(argv[2]) == 0) {
        std::fprintf(stderr, "usage: %s FILE, or %s FOLDER COUNT [SEED]\n", argv[0], argv[0]);
        return 2;
    }
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(argv[1])) {
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end()); // the same inputs everywhere
    std::vector<std::string> seeds;
    for (const auto &path : paths) {
        seeds.push_back(read(path));
        run(seeds.back());
    }
    Mutator mutator(seeds, argc == 4 ? number(argv[3]) : 1);
    for (std::uint64_t count = number(argv[2]); count > 0; --count) {
        run(mutator.next());
    }
    std::printf("%s inputs from %zu seeds\n", argv[2], seeds.size());
    return 0;
}
