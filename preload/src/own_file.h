/* The file of a recording. The program may close, limit and lock whatever it has, and ours with it. */
#ifndef DOWNBEAT_PRELOAD_OWN_FILE_H
#define DOWNBEAT_PRELOAD_OWN_FILE_H

#include <signal.h>
#include <stdint.h>

/* Makes it. Returns 0, or an errno. */
int own_file_create(const char *path);

/* Adds so many bytes, whole pages, which are mapped at `memory` then. Returns 0, or an errno; the program's own files
 * and signals are as before in any case. */
int own_file_grow(int64_t size, char **memory);

/* Bytes that it has now. */
int64_t own_file_size(void);

/* Bytes by which it may grow, as limits and the disk say now, and the errno of growing by more. */
int64_t own_file_room(int *code);

/* Unmaps and closes it; takes its name away. */
void own_file_close(void);
void own_file_remove(void);

/* Between these, a write beyond the limit of file sizes is an error and no signal, and a signal of the program's own
 * waits. `all`: so do all others. */
struct held_signals {
    sigset_t before;
    int pending;
};
void signals_hold(struct held_signals *held, int all);
void signals_release(const struct held_signals *held);

#endif
