/* Starts in virtual time (virtual.h): the library's states, schemes and slack, on thousands of processes, and what came
 * out in true time. Domains are as given, not searched: every process has a clock of its own. */
#ifndef DOWNBEAT_VIRTUAL_STATE_H
#define DOWNBEAT_VIRTUAL_STATE_H

#include "start/harmonize.h"
#include "virtual.h"

/* The input of a run. */
struct virtual_starts {
    struct virtual_model model;
    int size;
    const char *sync; /* NULL: the default */
    enum db_transport_kind transport;
    double period_ns; /* from call to call; every process comes to each with a jitter of its own */
    double jitter_ns;
    double doubt_ns; /* setting flag_error, from the environment; 0 where nobody asks */
    double from_ns;  /* calls that begin before this are made, and counted apart */
    double until_ns;
    double absent_ns; /* time that passes before the first call that counts, in which nobody calls */
};

/* One call. */
struct virtual_start {
    double skew_ns;         /* from the first exit to the last, in true time: the last readings of the clock */
    double expected_ns;     /* largest expected error of a clock */
    double bound_ns;        /* largest bound */
    double late_ns;         /* from the deadline on process 0's clock to the last exit */
    double told_ns;         /* what the next call said of that, to all the same; negative if there was none */
    double slack_ns;        /* that process 0 gave */
    double lag_ns;          /* largest of all processes */
    double cost_ns;         /* from the last entry to the last exit, in true time */
    int valid;              /* all flags were 1 */
    int blind;              /* a clock has turned, and was not compared since */
    long long syncs;        /* so far */
    long long beyond_bound; /* clocks whose error was beyond the bound */
};

/* The results of a run. */
struct virtual_outcome {
    int count; /* of those that count: the others are before them */
    struct virtual_start *starts;
    int early_count;
    struct virtual_start *all;
    long long errors;       /* clock errors measured: of every process but 0, at every start that counts */
    long long within[2];    /* those within one and two standard deviations */
    long long beyond_bound; /* those beyond the bound */
    double largest_share;   /* of its bound that an error took up */
    long long syncs;        /* in all, and while starts counted */
    long long syncs_counted;
    double sync_share;        /* of the time while starts counted */
    long long contradictions; /* of all processes */
    int depth;                /* of the tree, at the end */
    int lags;                 /* that the slack controller knows */
    double tolerance_ns;      /* in force at the end */
    double sync_ns;           /* one synchronization, in the mean */
    long long refused; /* flags of 0, of all calls and processes; those among them that the library has counted: */
    long long late;
    long long unsure;  /* by a clock that is not known well enough, in time or not */
    long long doubted; /* the same, counted here: by an expected error above `doubt_ns` */
    long long both;    /* doubted, and late */
};

struct virtual_outcome virtual_starts_run(const struct virtual_starts *starts);
void virtual_outcome_free(struct virtual_outcome *outcome);

#endif
