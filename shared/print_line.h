/* Lines that the library and libdownbeat-preload print on standard error. */
#ifndef DOWNBEAT_SHARED_PRINT_LINE_H
#define DOWNBEAT_SHARED_PRINT_LINE_H

#include "utf8_length.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Prints a line "downbeat: ...". Bytes that are not UTF-8 text and control characters are printed as e.g. \x1b. A
 * single call of fprintf, so that lines of several processes do not interleave. */
static inline void print_line(const char *text) {
    char line[4096];
    size_t length = 0;
    while (*text != '\0' && length < sizeof line - 8) { /* leaves space for an escape of 4 bytes and a 0 */
        size_t bytes = utf8_length(text, SIZE_MAX);
        if (bytes == 0)
            length += (size_t)snprintf(line + length, 5, "\\x%02x", (unsigned char)*text++);
        for (; bytes > 0; --bytes)
            line[length++] = *text++;
    }
    fprintf(stderr, "downbeat: %.*s\n", (int)length, line);
}

/* If standard error is a pipe, waits until its content has been read, but at most a second, because MPICH's launcher
 * discards unread output when a rank aborts. */
static inline void await_line_read(void) {
    struct stat file;
    int unread = 0;
    if (fstat(STDERR_FILENO, &file) != 0 || !S_ISFIFO(file.st_mode))
        return;
    for (int i = 0; i < 1000 && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; ++i) {
        const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000}; /* 1 ms */
        nanosleep(&pause, NULL);
    }
}

#endif
