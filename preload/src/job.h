/* Files of a job (one run of the program) in the directory of traces. */
#ifndef DOWNBEAT_PRELOAD_JOB_H
#define DOWNBEAT_PRELOAD_JOB_H

#include "settings.h"

#define PATH_SIZE (DIRECTORY_SIZE + 128)

/* Creates the directory of the settings. Returns 0, or an errno. */
int job_make_directory(void);
int job_made_directory(void); /* 1 if this process has created it */

/* Chooses the job's name, since a directory may have files of several. Collective over MPI_COMM_WORLD. */
void job_begin(int rank);

/* The path of the file of a process, and of that of its node. */
void job_rank_path(char path[PATH_SIZE], int rank);
void job_node_path(char path[PATH_SIZE], int rank);

/* Returns 1 in the first process of the job that calls it with `what`, which it marks by a link in the directory. */
int first_of_job(const char *what);

/* Removes the marks of this process. */
void job_end(void);

#endif
