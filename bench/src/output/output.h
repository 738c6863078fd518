#pragma once

#include "output_file.h"

#include <string>
#include <string_view>

namespace bench {

/// The path that stands for standard output.
constexpr const char *standard_output = "-";

/// A new file in the place of what was there, or standard output where the path is standard_output. A pipe, a device
/// and a symbolic link of the user's own are kept. Writes are unbuffered, so that a crash loses nothing. All calls
/// throw Error::here if they fail.
class Output {
public:
    explicit Output(const std::string &path);
    ~Output();
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    void write(std::string_view text);

    /// Writes the last text. Some errors of writing come only now.
    void finish(std::string_view text = {});

    int descriptor() const { return output_.file; }
    void check(int code) const;

private:
    std::string path_;
    output_file output_{};
};

/// Appends the checksum of a file that is complete: a line `DOWNBEAT-CRC32:` and eight digits, of all bytes before it.
/// netCDF ignores bytes after its data. Does nothing unless it is a regular file. Throws Error::here.
void seal_file(Output &output);

/// One line on standard error. Control characters are made visible: \x1b.
void print_error(const std::string &message);

} // namespace bench
