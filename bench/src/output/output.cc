// Writes result files, errors and progress (output.h).
#include "output/output.h"

#include "crc32.h"
#include "text/error.h"
#include "text/words.h"

#include <array>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace bench {

Output::Output(const std::string &path) : path_(path) {
    if (path == standard_output) {
        output_.file = dup(STDOUT_FILENO);
        check(output_.file < 0 ? errno : 0);
        return;
    }
    check(output_create(&output_, path.c_str(), 1));
    if (const int code = output_place(&output_)) {
        check(output_close(&output_, code));
    }
}

Output::~Output() {
    if (output_.file >= 0) {
        ::close(output_.file); // finish() was not called because of an error, which the caller reports
    }
}

void Output::check(int code) const {
    if (code != 0) {
        throw Error::here(fmt::format("cannot write '{}': {}", path_, output_reason(code)));
    }
}

void Output::write(std::string_view text) { check(output_write(&output_, text.data(), text.size())); }

void Output::finish(std::string_view text) {
    write(text);
    check(output_close(&output_, 0));
}

void seal_file(Output &output) {
    const int file = output.descriptor();
    struct stat status {};
    output.check(fstat(file, &status) != 0 ? errno : 0);
    if (!S_ISREG(status.st_mode)) {
        return;
    }
    output.check(lseek(file, 0, SEEK_SET) < 0 ? errno : 0);
    crc32 crc{};
    crc32_begin(&crc);
    std::array<char, 1 << 16> buffer{};
    ssize_t size = 0;
    while ((size = read(file, buffer.data(), buffer.size())) > 0) {
        crc32_add(&crc, buffer.data(), static_cast<std::size_t>(size));
    }
    output.check(size < 0 ? errno : 0);
    output.write(fmt::format("DOWNBEAT-CRC32:{:08x}\n", crc32_value(&crc)));
}

void print_error(const std::string &message) {
    // A single write, so that lines of different ranks do not mix.
    std::cerr << fmt::format("downbeat-bench: {}\n", printable(message)) << std::flush;
}

namespace {

// Times between two updates of the progress, on a terminal and in a log.
constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::milliseconds log_interval{2000}; // launchers forward standard error through pipes

/// The text of a duration, in the format of `downbeat run`.
std::string duration(double seconds) {
    if (seconds < 9.95) {
        return fmt::format("{:.1f} s", seconds);
    }
    if (seconds < 120) {
        return fmt::format("{:.0f} s", seconds);
    }
    if (seconds < 7200) {
        return fmt::format("{:.0f} min", seconds / 60);
    }
    return fmt::format("{:.1f} h", seconds / 3600);
}

} // namespace

std::string time_left(std::size_t done, std::size_t left, double seconds, bool at_least) {
    return fmt::format("{} {} left", at_least ? "at least" : "about",
                       duration(seconds * static_cast<double>(left) / static_cast<double>(done)));
}

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) { start(); }

void Progress::start() { begin_ = last_ = Clock::now(); }

void Progress::update(std::size_t done, std::size_t left, const std::string &note, bool at_least) {
    const Clock::time_point now = Clock::now();
    if (now - last_ < (terminal_ ? terminal_interval : log_interval)) {
        return;
    }
    last_ = now;
    const std::chrono::duration<double> passed = now - begin_;
    write(time_left(done, left, passed.count(), at_least) + (note.empty() ? "" : ", " + note), "");
}

void Progress::finish(const std::string &text) { write(text, "\n"); }

void Progress::write(const std::string &text, const char *end) {
    if (quiet_) {
        return;
    }
    if (terminal_) {
        std::cerr << "\rdownbeat-bench: " << text << "\033[K" << end << std::flush;
    } else {
        std::cerr << "downbeat-bench: " << text << std::endl;
    }
}

} // namespace bench
