/* Names of a job's files (job.h), and marks: symbolic links by which the processes of a job agree without messages. */
#define _GNU_SOURCE
#include "job.h"

#include "process.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char job[64];       /* prefix of file names: date, time and process ID of rank 0 */
static int directory_made; /* 1 if this process has created the directory */

int job_make_directory(void) {
    char partial[PATH_SIZE];
    snprintf(partial, sizeof partial, "%s", settings.directory);
    for (char *slash = strchr(partial + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    directory_made = mkdir(partial, 0777) == 0;
    return directory_made || errno == EEXIST ? 0 : errno;
}

int job_made_directory(void) { return directory_made; }

void job_begin(int rank) {
    struct tm utc;
    time_t now = time(NULL);
    if (rank == 0) {
        size_t length = strftime(job, sizeof job, "%Y%m%d-%H%M%S", gmtime_r(&now, &utc));
        snprintf(job + length, sizeof job - length, "-%ld", (long)getpid());
    }
    PMPI_Bcast(job, sizeof job, MPI_CHAR, 0, MPI_COMM_WORLD);
}

void job_rank_path(char path[PATH_SIZE], int rank) {
    snprintf(path, PATH_SIZE, "%s/%s-rank-%06d.part", settings.directory, job, rank);
}

void job_node_path(char path[PATH_SIZE], int rank) {
    snprintf(path, PATH_SIZE, "%s/%s-node-%06d.trace", settings.directory, job, rank);
}

/* Paths of the marks that this process has created; "": none. */
#define MARKS 2
static char marks[MARKS][PATH_SIZE];

int first_of_job(const char *name) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/.%s-%s", settings.directory, job, name);
    if (symlink("here", path) != 0)
        return errno != EEXIST;
    for (int i = 0; i < MARKS; ++i)
        if (marks[i][0] == '\0') {
            memcpy(marks[i], path, sizeof path);
            break;
        }
    return 1;
}

void job_end(void) {
    for (int i = 0; i < MARKS; ++i)
        if (marks[i][0] != '\0')
            unlink(marks[i]);
}
