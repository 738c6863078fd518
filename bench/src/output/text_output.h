#pragma once

#include <fstream>
#include <ostream>
#include <string>
#include <string_view>

namespace bench {

/// The path that stands for standard output.
constexpr const char *standard_output = "-";

/// A text file, or standard output where the path is standard_output. Every write reaches the file at once, so that a
/// crash loses nothing, and throws Error::here if it cannot.
class TextOutput {
public:
    explicit TextOutput(const std::string &path);
    void write(std::string_view text);

private:
    std::string path_;
    std::ofstream file_;
    std::ostream *stream_;
};

} // namespace bench
