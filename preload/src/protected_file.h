/* The file of a recording, protected against a program that closes all its files, limits file size or memory, or locks
 * its memory. A process has at most one such file. */
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
 * errno that growth beyond this would give. */
int64_t protected_file_room(int *code);

/* Unmaps and closes the file. */
void protected_file_close(void);

/* Unlinks the file. Call it before protected_file_close, which forgets the path. */
void protected_file_remove(void);

/* Between signals_hold and signals_release SIGXFSZ is blocked, so that a write beyond the file size limit is an error.
 * A SIGXFSZ that the library raises is discarded. A SIGXFSZ that was pending before stays pending. If `all` is 1, all
 * signals are blocked. */
struct held_signals {
    sigset_t before; /* signal mask before signals_hold */
    int pending;     /* 1 if SIGXFSZ was pending before */
};
void signals_hold(struct held_signals *held, int all);
void signals_release(const struct held_signals *held);

#endif
