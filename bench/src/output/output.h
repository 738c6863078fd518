// Output: result files, standard output, errors and progress on standard error.
#pragma once

#include "output_file.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace bench {

/// Path of standard output.
constexpr const char *standard_output = "-";

/// A result file, or standard output. The file is new and replaces an older one; a pipe, a device and a symbolic link
/// of the user are kept. Writes are not buffered, so that a crash loses nothing. All calls throw Error::here if they
/// fail.
class Output {
public:
    explicit Output(const std::string &path);
    ~Output();
    Output(const Output &) = delete;
    Output &operator=(const Output &) = delete;

    void write(std::string_view text);

    /// Writes the last text and closes the file. Closing reports write errors that the system has delayed.
    void finish(std::string_view text = {});

    int descriptor() const { return output_.file; }
    /// Throws Error::here unless the error number `code` is 0.
    void check(int code) const;

private:
    std::string path_;
    output_file output_{};
};

/// Appends a checksum of all bytes to a complete file: a line `DOWNBEAT-CRC32:` and eight hexadecimal digits. netCDF
/// readers ignore bytes after the data. Does nothing unless it is a regular file. Throws Error::here.
void seal_file(Output &output);

/// Prints a line on standard error. Escapes control characters, e.g. as \x1b.
void print_error(const std::string &message);

/// Estimates the remaining time from the `seconds` that `done` steps took: "about 12 s left", or "at least 12 s left".
std::string time_left(std::size_t done, std::size_t left, double seconds, bool at_least = false);

/// Shows progress on standard error: on a terminal, a line that is overwritten; otherwise a line every two seconds.
class Progress {
public:
    explicit Progress(bool quiet);

    /// Restarts the time measurement.
    void start();

    /// Shows the remaining time and a note, e.g. "3 samples rejected". `done`, `left`: numbers of steps; `at_least`:
    /// there may be more than `left`.
    void update(std::size_t done, std::size_t left, const std::string &note = "", bool at_least = false);
    /// Writes the last line, e.g. "8 of 8 cells complete".
    void finish(const std::string &text);

private:
    using Clock = std::chrono::steady_clock;

    /// Writes the line, followed by `end` on a terminal.
    void write(const std::string &text, const char *end);

    bool quiet_;              // show nothing
    bool terminal_;           // standard error is a terminal
    Clock::time_point begin_; // of the time measurement
    Clock::time_point last_;  // last update
};

} // namespace bench
