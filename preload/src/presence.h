/* Whether all processes have this library. */
#ifndef DOWNBEAT_PRELOAD_PRESENCE_H
#define DOWNBEAT_PRELOAD_PRESENCE_H

/* Leaves a mark that this process has the library: before MPI_Init, in settings.directory, which is there. */
void presence_announce(void);

/* Whether all processes of MPI_COMM_WORLD have the library: the same answer on all that have. Sends no message. `code`:
 * errno of making the directory. */
int presence_of_all(int rank, int size, int code);

/* All processes have had their answer: it can go. */
void presence_seen_by_all(void);

#endif
