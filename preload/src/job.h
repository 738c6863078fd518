/* The files of a job, in the directory of traces. */
#ifndef DOWNBEAT_PRELOAD_JOB_H
#define DOWNBEAT_PRELOAD_JOB_H

#include "settings.h"

#define PATH_SIZE (DIRECTORY_SIZE + 128)

/* Makes the directory of the settings. Returns 0, or an errno. */
int job_make_directory(void);
int job_made_directory(void); /* this process has */

/* Names the job, so that a directory may hold several. Collective over MPI_COMM_WORLD. */
void job_begin(int rank);

/* The file of a process, and of the node of that process. */
void job_rank_path(char path[PATH_SIZE], int rank);
void job_node_path(char path[PATH_SIZE], int rank);

/* Leaves a mark for the whole job. Returns whether this process is the first one to do so. */
int first_of_job(const char *what);

/* Removes the marks that this process left. */
void job_end(void);

#endif
