/* The settings of libdownbeat-preload: values of the environment variables DOWNBEAT_PRELOAD_*, which
 * docs/unmodified-programs.md explains. */
#ifndef DOWNBEAT_PRELOAD_SETTINGS_H
#define DOWNBEAT_PRELOAD_SETTINGS_H

#include <stdint.h>

#define DIRECTORY_SIZE 1024

/* All settings of the library. */
struct settings {
    int record;                     /* 1: collectives are recorded */
    int harmonize;                  /* 1: barriers of the program become harmonized barriers (MPIX_Harmonize) */
    int all_ranks;                  /* 1: the user states that all ranks have loaded this library */
    int any_caller;                 /* 0: only barriers that the executable calls are harmonized */
    char directory[DIRECTORY_SIZE]; /* for trace files */
    int64_t records;                /* maximum number of records per process */
    double sync_every;              /* interval of clock synchronizations, s; 0: only in MPI_Init and MPI_Finalize */
    int64_t skip;                   /* samples to discard at the beginning of each class of samples (samples.c) */
};

#define SETTINGS_PROBLEM_SIZE 768

/* Reads all variables. Returns 0 on success. On error returns -1 and writes one line to `problem`: the first invalid
 * variable and the valid values. */
int settings_read(struct settings *settings, char problem[SETTINGS_PROBLEM_SIZE]);

#endif
