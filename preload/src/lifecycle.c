/* Wrappers of MPI_Init, MPI_Finalize, MPI_Abort and MPI_Pcontrol: begin and end of a recording. A problem ends the
 * program with one line, unless it is tolerable: then the program runs without a recording. */
#define _GNU_SOURCE
#include "clocks.h"
#include "communicators.h"
#include "completion.h"
#include "frames.h"
#include "job.h"
#include "joining.h"
#include "phases.h"
#include "presence.h"
#include "process.h"
#include "python_frames.h"
#include "recording.h"
#include "samples.h"
#include "tables.h"

#include "output_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_Comm node = MPI_COMM_NULL;       /* the processes of this node */
static char problem[SETTINGS_PROBLEM_SIZE]; /* this process's problem; "": none */
static int tolerable;                       /* 1 if the program can run without a recording */
static int directory_code;                  /* errno of creating the directory; 0: created */

/* Ends all processes if a process has a problem that is not tolerable. The lowest rank with such a problem, else the
 * lowest rank with a tolerable problem, prints it. Returns 1 if there are only tolerable problems, 0 if there are none.
 */
static int end_on_problem(int rank) {
    /* Minima over all ranks. */
    enum { INTOLERABLE_RANK, PROBLEM_RANK, DIRECTORY_EXISTED, MINIMA };
    int has_problem = problem[0] != '\0';
    int local[MINIMA];
    int lowest[MINIMA];
    local[INTOLERABLE_RANK] = has_problem && !tolerable ? rank : INT_MAX;
    local[PROBLEM_RANK] = has_problem ? rank : INT_MAX;
    local[DIRECTORY_EXISTED] = !job_made_directory(); /* the minimum is 0 if any process has created it */
    PMPI_Allreduce(local, lowest, MINIMA, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        presence_remove_verdict();
    int must_end = lowest[INTOLERABLE_RANK] != INT_MAX;
    if (rank == lowest[must_end ? INTOLERABLE_RANK : PROBLEM_RANK])
        print_message("%s", problem);
    if (!must_end)
        return lowest[PROBLEM_RANK] != INT_MAX;
    PMPI_Finalize();
    /* Any process may remove the directory, since the launcher may kill its creator once another process has ended. */
    if (!lowest[DIRECTORY_EXISTED])
        rmdir(settings.directory);
    exit(2);
}

/* Ends the program if processes have different settings of those that the library's collectives depend on. A setting is
 * equal on all processes if its maximum equals its minimum, which is the negative maximum of the negative values. */
static void end_if_settings_differ(int rank) {
    int64_t barriers = settings.harmonize + 2 * settings.any_caller;
    int64_t sync_every_us = (int64_t)(settings.sync_every * 1e6);
    int64_t words[4] = {barriers, -barriers, sync_every_us, -sync_every_us};
    int64_t maxima[4];
    PMPI_Allreduce(words, maxima, 4, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (maxima[0] != -maxima[1] || maxima[2] != -maxima[3])
        snprintf(
            problem, sizeof problem,
            "the ranks have different values of DOWNBEAT_PRELOAD_MODE, _CALLERS or _SYNC_EVERY; give all programs of "
            "the command the same");
    end_on_problem(rank);
}

/* Returns the remedy for an errno of creating or growing a file. */
static const char *remedy(int code) {
    switch (code) {
    case EFBIG:
        return "raise the limit of file sizes (ulimit -f)";
    case ENOMEM:
        return "raise the limit of address space (ulimit -v)";
    case EAGAIN:
        return "raise the limit of locked memory (ulimit -l)";
    case EMFILE:
        return "raise the limit of open files (ulimit -n)";
    case ENOSPC:
    case EDQUOT:
        return "free space there, or choose another directory with DOWNBEAT_PRELOAD_DIR";
    default:
        return "choose another directory with DOWNBEAT_PRELOAD_DIR";
    }
}

/* Called by MPI when a communicator is freed. `value` is its struct comm. */
static int forget_communicator(MPI_Comm handle, int keyval, void *value, void *extra) {
    struct comm *comm = value;
    (void)handle;
    (void)keyval;
    (void)extra;
    samples_forget(comm);
    completion_forget(comm);
    communicators_forget(comm);
    return MPI_SUCCESS;
}

/* Begins the recording, after MPI_Init: agrees with all processes, creates the file and synchronizes the clocks. */
static void begin_recording(void) {
    char path[PATH_SIZE];
    int rank;
    int size;
    int level = MPI_THREAD_MULTIPLE;
    FRAME(frame);
    frame_enter(frame);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Query_thread(&level);
    if (size > 1 && !settings.all_ranks && !presence_of_all(rank, size, directory_code)) {
        frame_leave(frame);
        return;
    }
    end_on_problem(rank);
    end_if_settings_differ(rank);
    job_begin(rank);
    job_rank_path(path, rank);
    int code = directory_code;
    if (code == 0)
        code = recording_open(path, rank, size, settings.record ? settings.records : 0, level == MPI_THREAD_MULTIPLE);
    tolerable = is_exhaustion(code);
    if (code != 0)
        snprintf(problem, sizeof problem, "cannot write '%.400s': %s; %s%s", path, strerror(code),
                 tolerable ? "nothing is recorded; " : "", remedy(code));
    if (end_on_problem(rank)) {
        recording_discard();
        frame_leave(frame);
        return;
    }
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    if (clocks_begin() != MPI_SUCCESS)
        snprintf(problem, sizeof problem, "the clocks cannot be synchronized; nothing is recorded");
    end_on_problem(rank);
    frame_leave(frame);
    communicators_begin(forget_communicator);
    python_frames_begin();
    library_begun = 1;
    library_enabled = 1;
}

/* Joins the files of `ranks` into the file at `path`, and removes them. Returns 0, or an error number. */
static int join(const char *path, const int *ranks, int count) {
    char rank_path[PATH_SIZE];
    struct output_file output;
    int code = output_create(&output, path, 0);
    for (int i = 0; code == 0 && i < count; ++i) {
        job_rank_path(rank_path, ranks[i]);
        code = recording_append(output.file, rank_path);
    }
    code = output_close(&output, code);
    for (int i = 0; code == 0 && i < count; ++i) {
        job_rank_path(rank_path, ranks[i]);
        unlink(rank_path);
    }
    return code;
}

/* The first process of the node joins the files of all its processes. If it has no memory for their ranks, it says so,
 * and the files stay separate. */
static void join_node(void) {
    char path[PATH_SIZE];
    int rank;
    int node_rank;
    int size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_rank(node, &node_rank);
    PMPI_Comm_size(node, &size);
    int *ranks = node_rank == 0 ? malloc((size_t)size * sizeof *ranks) : NULL;
    int has_memory = ranks != NULL;
    PMPI_Bcast(&has_memory, 1, MPI_INT, 0, node);
    if (has_memory)
        PMPI_Gather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, 0, node);
    if (node_rank == 0) {
        job_node_path(path, rank);
        int code = has_memory ? join(path, ranks, size) : ENOMEM;
        if (code != 0)
            print_message("cannot write '%s': %s; the recording is in the files *.part in that directory", path,
                          output_reason(code));
    }
    free(ranks);
    PMPI_Comm_free(&node);
}

/* Ends the recording and disables the library. */
static void end_recording(void) {
    library_enabled = 0;
    library_begun = 0;
    phases_end(); /* before clocks_end: it reads the clock */
    clocks_end();
    samples_end();
    recording_end(TRACE_FINALIZED, 0);
    recording_close();
    job_end();
    join_node();
    communicators_end();
}

/* Ends the program if its MPI library has another ABI than the one that this library was built for: that of Open MPI 4
 * and 5, or that of MPICH and Intel MPI. It would crash on the other's handles. Other processes wait 1 s, so that
 * process 0 can print its line before the launcher ends the job. */
static void check_library(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    static const char *const names[] = {"MPICH or a library of its ABI", "Open MPI"};
    Dl_info info;
    const char *rank = NULL;
    void *next = dlsym(RTLD_NEXT, "PMPI_Init");
    void *library = next != NULL && dladdr(next, &info) != 0 ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library == NULL || (dlsym(library, "ompi_mpi_comm_world") != NULL) == OPEN_MPI)
        return;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && rank == NULL; ++i)
        rank = getenv(ranks[i]);
    if (rank != NULL && strcmp(rank, "0") != 0)
        sleep(1);
    else
        print_message(
            "this libdownbeat-preload was built for %s, but the program's MPI library is %s (%s); preload the "
            "libdownbeat-preload that was built for this MPI library",
            names[OPEN_MPI], names[!OPEN_MPI], info.dli_fname);
    _exit(2);
}

/* `downbeat trace` checks the variables by running any program with this one in its environment, which then exits. */
__attribute__((constructor)) static void check_settings(void) {
    if (getenv("DOWNBEAT_CHECKS_PRELOAD") == NULL)
        return;
    if (settings_read(&settings, problem) == 0)
        _exit(0);
    fprintf(stdout, "%s\n", problem);
    fflush(stdout);
    _exit(2);
}

/* Makes a path absolute, because the program may change its directory. */
static void make_absolute(char path[DIRECTORY_SIZE]) {
    char absolute[PATH_MAX + DIRECTORY_SIZE + 1];
    if (path[0] == '/' || getcwd(absolute, PATH_MAX) == NULL)
        return;
    size_t length = strlen(absolute);
    snprintf(absolute + length, sizeof absolute - length, "/%s", path);
    if (strlen(absolute) < DIRECTORY_SIZE)
        strcpy(path, absolute);
}

/* Called before MPI_Init. is_program_call = 1: the program made the call, not MPI. */
static void begin_init(int is_program_call) {
    check_library();
    if (!is_program_call || library_begun)
        return;
    settings_read(&settings, problem);
    make_absolute(settings.directory);
    directory_code = job_make_directory();
    if (!settings.all_ranks)
        presence_announce();
}

#define INIT(Function, parameters, arguments)                                                                          \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        begin_init(is_program_call);                                                                                   \
        int code = REAL(Function) arguments;                                                                           \
        frame_leave(frame);                                                                                            \
        if (code == MPI_SUCCESS && is_program_call && !library_begun)                                                  \
            begin_recording();                                                                                         \
        return code;                                                                                                   \
    }
BOTH(INIT, Init, (int *argc, char ***argv), (argc, argv))
BOTH(INIT, Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))

/* Ends the recording even inside another call, since MPI itself never calls MPI_Finalize. */
#define FINALIZE(Function, parameters)                                                                                 \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        if (library_begun)                                                                                             \
            end_recording();                                                                                           \
        int code = REAL(Function)();                                                                                   \
        frame_leave(frame);                                                                                            \
        if (is_program_call && job_made_directory())                                                                   \
            rmdir(settings.directory); /* succeeds if it is empty */                                                   \
        return code;                                                                                                   \
    }
BOTH(FINALIZE, Finalize, (void))

#define ABORT(Function, parameters)                                                                                    \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        recording_end(TRACE_ABORTED, code);                                                                            \
        return REAL(Function)(comm, code);                                                                             \
    }
BOTH(ABORT, Abort, (MPI_Comm comm, int code))

/* MPI_Pcontrol: level 0 switches the library off, every positive level on; levels 1 and -1 begin and end a phase. */
static void control(int level, const char *name) {
    if (!library_begun)
        return;
    if (level >= 0)
        library_enabled = level != 0;
    if (level == 1 || level == -1)
        phases_control(level, name);
}

/* Clears the register of the name, so that a later bare MPI_Pcontrol(1) does not read it again. */
static inline void forget_name(void) {
#if defined(__x86_64__)
    __asm__ volatile("xor %%esi, %%esi" ::: "rsi", "cc");
#elif defined(__aarch64__)
    __asm__ volatile("mov x1, xzr" ::: "x1");
#endif
}

/* The number of variadic arguments is unknown, so the wrapper passes on as many as fit into registers. */
#define CONTROL(Function, parameters)                                                                                  \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        void *values[5];                                                                                               \
        va_list arguments;                                                                                             \
        va_start(arguments, level);                                                                                    \
        for (int i = 0; i < 5; ++i)                                                                                    \
            values[i] = va_arg(arguments, void *);                                                                     \
        va_end(arguments);                                                                                             \
        if (frame_enter(frame))                                                                                        \
            control(level, values[0]);                                                                                 \
        int code = REAL(Function)(level, values[0], values[1], values[2], values[3], values[4]);                       \
        frame_leave(frame);                                                                                            \
        forget_name();                                                                                                 \
        return code;                                                                                                   \
    }
BOTH(CONTROL, Pcontrol, (const int level, ...))
