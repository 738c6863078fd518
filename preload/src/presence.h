/* Checks that all processes have loaded this library. */
#ifndef DOWNBEAT_PRELOAD_PRESENCE_H
#define DOWNBEAT_PRELOAD_PRESENCE_H

/* Marks that this process has the library by a link in settings.directory, which must exist. Called before MPI_Init. */
void presence_announce(void);

/* Returns 1 if all processes of MPI_COMM_WORLD have the library; the result is the same on all that have it. Sends no
 * message. `code`: errno of creating the directory. */
int presence_of_all(int rank, int size, int code);

/* Removes the verdict after all processes have read it. */
void presence_seen_by_all(void);

#endif
