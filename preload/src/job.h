/* Files of a job (one run of the program) in the directory of traces. */
#ifndef DOWNBEAT_PRELOAD_JOB_H
#define DOWNBEAT_PRELOAD_JOB_H

#include "settings.h"

#define PATH_SIZE (DIRECTORY_SIZE + 128)

/* Creates the directory of the settings and its parents. Returns 0, or an errno. */
int job_make_directory(void);
int job_made_directory(void); /* returns 1 if this process has created the directory */

/* Chooses the job's name, since a directory may have files of several jobs. Collective over MPI_COMM_WORLD. */
void job_begin(int rank);

/* Set `path` to the path of a process's file, and of the file of a node, named by its lowest rank. */
void job_rank_path(char path[PATH_SIZE], int rank);
void job_node_path(char path[PATH_SIZE], int rank);

/* Returns 1 in the first process of the job that calls it with `name`, else 0; for messages that one process prints.
 * The first process creates a link in the directory as a mark. */
int first_of_job(const char *name);

/* Removes the marks of this process. */
void job_end(void);

#endif
