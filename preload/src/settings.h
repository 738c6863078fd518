/* The environment variables DOWNBEAT_PRELOAD_*. */
#ifndef DOWNBEAT_PRELOAD_SETTINGS_H
#define DOWNBEAT_PRELOAD_SETTINGS_H

#include <stdint.h>

#define DIRECTORY_SIZE 1024

struct settings {
    int record;
    int harmonize;
    int all_ranks;  /* 1: the user states that all ranks have loaded this library */
    int any_caller; /* 0: only barriers that the executable calls are harmonized */
    char directory[DIRECTORY_SIZE];
    int64_t records;   /* largest number of records per process */
    double sync_every; /* interval of clock synchronizations, s; 0: only in MPI_Init and MPI_Finalize */
    int64_t skip;      /* samples to skip at the beginning of each class */
};

#define SETTINGS_PROBLEM_SIZE 768

/* Reads all variables. Returns 0, or -1 with a line that names the first variable that is not valid, and the valid
 * values. */
int settings_read(struct settings *settings, char problem[SETTINGS_PROBLEM_SIZE]);

#endif
