/* Checks that all processes of MPI_COMM_WORLD have this library (presence.h), before it sends a message. Some processes
 * may run without it (coupled programs, a wrapper that unsets LD_PRELOAD, a static program); they would receive the
 * library's messages.
 *
 * Each process creates a mark in the trace's directory before MPI_Init, so that all marks exist when MPI_Init returns
 * on any process. Process 0 counts them and creates a verdict; the others wait for it. If process 0 has no mark, any
 * other process may decide that there is no trace. The verdict is unique because it is a symbolic link, whose creation
 * with its text is atomic. All names contain a key from the launcher, which only the processes of one MPI_COMM_WORLD
 * share. */
#define _GNU_SOURCE
#include "presence.h"

#include "process.h"
#include "tables.h"

#include "fnv1a.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 2.0 /* time to wait for marks that a file server shows late, s */
/* Texts of the verdict: all processes have the library, or only some have it. */
#define VERDICT_ALL "all"
#define VERDICT_SOME "some"
#define NAME_SIZE 64
#define LINK_SIZE (DIRECTORY_SIZE + NAME_SIZE)
#define LIST_SIZE 128

static uint64_t key;       /* hash of the launcher's identity; 0: unknown */
static int marked;         /* 1 if this process has created its mark */
static char rank_text[16]; /* this process's rank, as the launcher writes it */

/* Adds a text to the key. */
static void add_to_key(const char *text) { key = fnv1a_text(key == 0 ? FNV1A_START : key, text); }

/* Returns the word after an option in a command line of /proc; "" if the option is missing. */
static const char *after_option(const char *words, size_t size, const char *option) {
    for (const char *word = words; word < words + size; word += strlen(word) + 1)
        if (strcmp(word, option) == 0 && word + strlen(word) + 1 < words + size)
            return word + strlen(word) + 1;
    return "";
}

/* Reads a file of /proc into a buffer and terminates it by 0. Returns its size in bytes; 0 if it cannot be read. */
static size_t read_process(long process, const char *name, char *buffer, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", process, name);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(buffer, 1, size - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    buffer[length] = '\0';
    return length;
}

/* Adds the launcher's address and the number of the job to the key, for Hydra, MPICH's launcher. They are in the
 * command line of the proxy that started this process, which is the parent, or an ancestor if a script starts the
 * program. Leaves the key unchanged if there is no proxy. */
static void add_proxy_to_key(void) {
    char text[4096];
    long process = getppid();
    for (int i = 0; i < 32 && process > 1; ++i) {
        size_t size = read_process(process, "cmdline", text, sizeof text);
        const char *port = after_option(text, size, "--control-port");
        if (port[0] != '\0') {
            add_to_key(port);
            add_to_key(after_option(text, size, "--pgid"));
            return;
        }
        read_process(process, "stat", text, sizeof text); /* pid (name) state ppid ... */
        const char *name_end = strrchr(text, ')');
        process = name_end != NULL && strlen(name_end) > 4 ? strtol(name_end + 4, NULL, 10) : 0; /* the parent */
    }
}

/* Environment variables of launchers with the job's name, the step of the job (may be missing), and the rank. */
static const struct launcher {
    const char *job;
    const char *step;
    const char *rank;
} launchers[] = {
    {"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri", "PMIX_RANK"}, /* Open MPI, and Slurm with PMIx */
    /* `downbeat trace` sets DOWNBEAT_PRELOAD_LAUNCH, because with -envlist and -envnone Intel's Hydra does not pass
     * I_MPI_HYDRA_UUID. HYDRA_BSTRAP_PGID distinguishes spawned jobs from the first job. */
    {"DOWNBEAT_PRELOAD_LAUNCH", "HYDRA_BSTRAP_PGID", "PMI_RANK"},
    {"I_MPI_HYDRA_UUID", "HYDRA_BSTRAP_PGID", "PMI_RANK"},
    {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID"},
};

/* Sets `key` and `rank_text`. Leaves `key` at 0 if the launcher is unknown. */
static void find_key(void) {
    const char *rank = getenv("PMI_RANK");
    if (!OPEN_MPI && rank != NULL)
        add_proxy_to_key();
    for (size_t i = 0; key == 0 && i < sizeof launchers / sizeof *launchers; ++i) {
        const char *job = getenv(launchers[i].job);
        const char *step = getenv(launchers[i].step);
        rank = getenv(launchers[i].rank);
        if (job == NULL || rank == NULL)
            continue;
        add_to_key(job);
        add_to_key(step != NULL ? step : "");
    }
    if (key != 0)
        snprintf(rank_text, sizeof rank_text, "%s", rank);
}

/* Sets `path` to the path of a mark, whose `name` is its rank, or of the verdict, whose `name` is "verdict". */
static void path_of(char path[LINK_SIZE], const char *name) {
    snprintf(path, LINK_SIZE, "%s/.%016llx-%s", settings.directory, (unsigned long long)key, name);
}

void presence_announce(void) {
    char path[LINK_SIZE];
    find_key();
    if (key == 0)
        return;
    path_of(path, rank_text);
    marked = symlink("here", path) == 0 || errno == EEXIST;
}

/* Sets `marks[rank]` to 1 for each process with a mark. Returns their number. */
static int read_marks(char *marks, int size) {
    char prefix[NAME_SIZE];
    int count = 0;
    memset(marks, 0, (size_t)size);
    int length = snprintf(prefix, sizeof prefix, ".%016llx-", (unsigned long long)key);
    DIR *directory = opendir(settings.directory);
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char *end;
        if (strncmp(entry->d_name, prefix, (size_t)length) != 0)
            continue;
        long rank = strtol(entry->d_name + length, &end, 10);
        if (*end != '\0' || end == entry->d_name + length || rank < 0 || rank >= size)
            continue;
        count += !marks[rank];
        marks[rank] = 1;
    }
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* Reads the verdict. Returns 1 if all processes have the library, 0 if only some have it, -1 if there is no verdict
 * yet. */
static int read_verdict(void) {
    char path[LINK_SIZE];
    char text[NAME_SIZE] = "";
    /* Opening the directory invalidates a negative entry in the cache of a file server's client. */
    int directory = open(settings.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0)
        close(directory);
    path_of(path, "verdict");
    if (readlink(path, text, sizeof text - 1) <= 0)
        return -1;
    return strcmp(text, VERDICT_ALL) == 0;
}

/* Writes the first eight ranks without a mark to `list`. */
static void list_unmarked(char list[LIST_SIZE], const char *marks, int size) {
    size_t length = 0;
    for (int rank = 0, listed = 0; rank < size; ++rank) {
        if (marks[rank])
            continue;
        if (listed++ == 8) {
            snprintf(list + length, LIST_SIZE - length, ", ...");
            return;
        }
        length += (size_t)snprintf(list + length, LIST_SIZE - length, "%s%d", length > 0 ? ", " : "", rank);
    }
}

/* Creates the verdict from the number of marks, unless there is a verdict. Returns 1 if the valid verdict is "all". */
static int decide(const char *marks, int count, int size) {
    char path[LINK_SIZE];
    char list[LIST_SIZE] = "";
    path_of(path, "verdict");
    if (symlink(count == size ? VERDICT_ALL : VERDICT_SOME, path) != 0)
        return read_verdict() == 1;
    if (count == size)
        return 1;
    list_unmarked(list, marks, size);
    print_message("%d of %d ranks left no mark in '%s' (rank %s): these ranks run without libdownbeat-preload, or "
                  "write to another "
                  "directory; nothing is recorded; pass LD_PRELOAD to every program of the command and choose a "
                  "directory that all "
                  "nodes share, or set DOWNBEAT_PRELOAD_RANKS=all if all ranks have the library",
                  size - count, size, settings.directory, list);
    return 0;
}

/* Waits: process 0 for all marks, other processes for the verdict. Returns 1 if all processes have the library. */
static int wait_for_verdict(char *marks, int rank, int size) {
    struct timespec begin;
    struct timespec now;
    struct timespec pause = {0, 100000};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        int flag;
        int verdict = read_verdict();
        if (verdict >= 0)
            return verdict;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int expired = (double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) >= PATIENCE_S;
        if (rank == 0 || expired) {
            int count = read_marks(marks, size);
            /* Process 0 decides when all marks exist or PATIENCE_S is over; another process decides after PATIENCE_S,
             * and only if process 0 has no mark. */
            int decides = rank == 0 ? count == size || expired : !marks[0];
            if (decides)
                return decide(marks, count, size);
        }
        /* Drive MPI's progress: other processes may need this one to forward their messages. */
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20000000)
            pause.tv_nsec *= 2;
    }
}

int presence_of_all(int rank, int size, int code) {
    char path[LINK_SIZE];
    char *marks = malloc((size_t)size);
    int all_present = 0; /* stays 0 without a mark of this process, which then cannot take part in the check */
    if (key == 0 && rank == 0)
        print_message(
            "the launcher is unknown, so ranks without libdownbeat-preload cannot be detected; nothing is recorded; "
            "set DOWNBEAT_PRELOAD_RANKS=all if all ranks have the library");
    if (key != 0 && !marked && rank == 0) {
        print_message("cannot write in '%s': %s; choose another directory with DOWNBEAT_PRELOAD_DIR",
                      settings.directory, strerror(code));
        /* A full disk or a limit must not end the program; a wrong directory ends it, so that the user notices. */
        if (!is_exhaustion(code))
            PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (marked && marks != NULL)
        all_present = wait_for_verdict(marks, rank, size);
    if (marked) {
        path_of(path, rank_text);
        unlink(path);
    }
    if (marked && marks != NULL && !all_present && read_marks(marks, size) == 0) { /* no process waits any more */
        path_of(path, "verdict");
        unlink(path);
    }
    free(marks);
    return all_present;
}

void presence_remove_verdict(void) {
    char path[LINK_SIZE];
    path_of(path, "verdict");
    if (marked)
        unlink(path);
    marked = 0;
}
