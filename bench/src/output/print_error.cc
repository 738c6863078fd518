#include "output/print_error.h"

#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace bench {

using namespace std::chrono_literals;

void print_error(const std::string &message) {
    // One write, so that lines of different ranks do not mix.
    std::cerr << fmt::format("downbeat-bench: {}\n", message) << std::flush;
}

void await_errors_read() {
    struct stat file {};
    if (fstat(STDERR_FILENO, &file) != 0 || !S_ISFIFO(file.st_mode)) {
        return;
    }
    const auto end = std::chrono::steady_clock::now() + 1s;
    int unread = 0;
    while (ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(1ms);
    }
}

} // namespace bench
