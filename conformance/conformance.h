/* Shared by the checks: the function under test, the limits that a check may expect, and facts about the run. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <mpi.h>

/* The function under test: -DHARMONIZE=MPI_Harmonize for an MPI library that has it. */
#ifndef HARMONIZE
#define HARMONIZE MPIX_Harmonize
#endif

int HARMONIZE(MPI_Comm comm, int *flag);

/* The run, as each process sees it. */
struct run {
    MPI_Comm world;      /* duplicate of MPI_COMM_WORLD for what the checks themselves exchange; never harmonized */
    MPI_Comm node;       /* the processes of `world` whose clock agrees with this process's */
    int rank;            /* in world */
    int size;            /* of world */
    int node_size;       /* of node */
    int nodes;           /* number of such groups */
    int thread_multiple; /* MPI gave MPI_THREAD_MULTIPLE */
    double tolerance;    /* seconds between the first and the last exit of a call in which all flags are true */
    int communicators;   /* how many to make and free */
    double patience;     /* seconds after which a check that could go on ends by itself */
    int lost;            /* a process was, and `world` has the others */
};

struct check {
    const char *name;
    const char *promise; /* what TAP prints */
    void (*body)(const struct run *run);
};

/* Tables of checks; each ends with an empty entry. */
extern const struct check checks_of_time[];
extern const struct check checks_of_flags[];
extern const struct check checks_of_communicators[];
extern const struct check checks_of_messages[];
extern const struct check checks_of_threads[];
extern const struct check checks_of_errors[];

/* The check `recovery`: on return `world`, `size` and `lost` are those of the survivors. */
void recover(struct run *run);

/* Records that the running check failed on this process, unless `condition` is true. The first message is kept. The
 * check goes on, so that all processes make the same collective calls. */
void expect(int condition, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* An MPI call, or one of the function under test, that must succeed. */
#define OK(call) expect_success((call), #call)
void expect_success(int code, const char *call);

/* Why the running check cannot decide anything here. All processes must call it. */
void skip(const char *reason);

/* A figure worth printing with the result of the running check. Process 0's are printed. */
void note(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* Whether the running check has failed on this process. */
int has_failed(void);

/* Ends the check: prints what all processes found, and returns whether it was good. */
int print_result(const struct run *run, int number, const struct check *check);

/* Seconds on a clock that all processes of a node share. */
double now(void);
void pause_for(double seconds);

/* Gives each process of the node a processor of its own, where there are enough. */
void bind_processes(const struct run *run);

/* A process that stops its parent for a while. Forked before MPI is initialized. */
void stopper_start(void);
/* Stops this process once, at some moment within `within` seconds from now, for `duration` seconds. Returns at once. */
void stopper_ask(double within, double duration);
/* Whether all stops that were asked for are over. */
int stopper_idle(void);
void stopper_end(void);

#endif
