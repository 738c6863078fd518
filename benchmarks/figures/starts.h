/* Shared by the modes: stamped calls of a synchronizer, and the conclusion from them. */
#ifndef DOWNBEAT_FIGURES_STARTS_H
#define DOWNBEAT_FIGURES_STARTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ranks that measure; set by main. */
struct world {
    MPI_Comm comm;
    int rank;
    int size;
    double scale; /* ns per stamp; the same on all ranks, whose stamps come from one counter */
};

extern struct world world;

/* Memory that has been touched. */
void *allocate(int count, size_t each);

/* -1 where there are none. Sorts them. */
double median(double *values, int count);

/* Ends the run where there is nothing to make a figure of: a figure of nothing would look met. */
void require(bool condition, const char *what);

/* 50 us on the processor. */
void work(void);

/* The starts of one synchronizer. */
struct starts {
    int count;
    int64_t *exits;
    int *flags;
    double *costs_ns; /* of each call, beyond the work, on this rank */
    double cost_ns;   /* mean */
};

struct starts make_starts(int count);
void free_starts(struct starts *starts);

/* Works and synchronizes, from one start to before another; collective. */
void run_block(struct starts *starts, int begin, int end, MPI_Comm comm, void (*synchronize)(MPI_Comm comm, int *flag));

void with_nothing(MPI_Comm comm, int *flag);
void with_barrier(MPI_Comm comm, int *flag);
void with_harmonize(MPI_Comm comm, int *flag);

/* The conclusion of rank 0 from the starts of all. */
struct conclusion {
    double skew_ns;       /* median over valid starts */
    double false_percent; /* valid, yet with a skew above the limit, of all starts */
    double rejected_percent;
};

struct conclusion conclude(struct starts *starts, double limit_ns);

/* A duplicate with this setting. */
MPI_Comm with_slack(const char *slack);

/* Makes the library's next broadcast on this rank 1 ms late: between the decision and the moment at which this rank is
 * ready. */
void disturb(void);

/* Deadlines that any rank has missed so far because it was not ready. Collective. */
long long missed_deadlines(MPI_Comm comm);

/* Modes with a file of their own. */
void mode_busy(void);
void mode_first(void);
void mode_misses(void);

#endif
