/* The environment variables DOWNBEAT_PRELOAD_*. */
#ifndef DOWNBEAT_PRELOAD_SETTINGS_H
#define DOWNBEAT_PRELOAD_SETTINGS_H

#include <stdint.h>

#define DIRECTORY_SIZE 1024

struct settings {
    int record;
    int harmonize;
    int all_ranks;  /* have this library, as the user says */
    int any_caller; /* 0: barriers are harmonized where the executable calls them */
    char directory[DIRECTORY_SIZE];
    int64_t records;   /* per process */
    double sync_every; /* s; 0: in MPI_Init and MPI_Finalize alone */
    int64_t skip;      /* samples at the beginning of each class */
};

#define SETTINGS_PROBLEM_SIZE 768

/* Returns 0, or -1 with a line that says which variable is not valid, and what would be; the others are read. */
int settings_read(struct settings *settings, char problem[SETTINGS_PROBLEM_SIZE]);

#endif
