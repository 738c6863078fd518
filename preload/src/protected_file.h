/* The file of a recording, protected against a program that closes, limits or locks all its files and memory. */
#ifndef DOWNBEAT_PRELOAD_PROTECTED_FILE_H
#define DOWNBEAT_PRELOAD_PROTECTED_FILE_H

#include <signal.h>
#include <stdint.h>

/* Creates the file. Returns 0, or an errno. */
int protected_file_create(const char *path);

/* Extends the file by `size` bytes, a multiple of the page size, and maps them at `memory`. Returns 0, or an errno. The
 * program's files and signals are not affected. */
int protected_file_grow(int64_t size, char **memory);

/* Current size, bytes. */
int64_t protected_file_size(void);

/* Bytes by which the file may grow within the limits of the process and the free space of the disk. Sets `code` to the
 * errno of growing by more. */
int64_t protected_file_room(int *code);

/* Unmaps and closes the file; unlinks it. */
void protected_file_close(void);
void protected_file_remove(void);

/* Between these two calls SIGXFSZ is blocked, so that a write beyond the file size limit is an error; one that the
 * library causes is discarded, one of the program's stays pending. `all`: blocks all signals. */
struct held_signals {
    sigset_t before;
    int pending; /* SIGXFSZ was pending before */
};
void signals_hold(struct held_signals *held, int all);
void signals_release(const struct held_signals *held);

#endif
