#pragma once

#include "output_file.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace bench {

/// The path that stands for standard output.
constexpr const char *standard_output = "-";

/// A new file that replaces an older one, or standard output where the path is standard_output. A pipe, a device
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

/// "about 12 s left", or "at least 12 s left".
std::string time_left(std::size_t done, std::size_t left, double seconds, bool at_least = false);

/// The progress of the run on standard error: one line that is rewritten on a terminal, else a line now and then.
class Progress {
public:
    explicit Progress(bool quiet);

    /// The time before does not count.
    void start();

    /// Shows the time left, and a note, e.g. "3 samples rejected". `at_least`: there may be more steps.
    void update(std::size_t done, std::size_t left, const std::string &note = "", bool at_least = false);
    /// The last line, e.g. "8 of 8 cells complete".
    void finish(const std::string &text);

private:
    using Clock = std::chrono::steady_clock;

    void write(const std::string &text, const char *end);

    bool quiet_;
    bool terminal_;
    Clock::time_point begin_;
    Clock::time_point last_; // update
};

} // namespace bench
