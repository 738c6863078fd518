/* Checks that all processes of the program have loaded this library, by files in the directory of traces. */
#ifndef DOWNBEAT_PRELOAD_PRESENCE_H
#define DOWNBEAT_PRELOAD_PRESENCE_H

/* Marks that this process has the library by a link in settings.directory, which must exist. Called before MPI_Init. */
void presence_announce(void);

/* Returns 1 if all processes of MPI_COMM_WORLD have the library, else 0. All processes that have it get the same
 * result. Sends no message. `code`: errno of creating the directory, for a message. */
int presence_of_all(int rank, int size, int code);

/* Removes the verdict, the file with the result of presence_of_all. Call it after all processes have read it. */
void presence_remove_verdict(void);

#endif
