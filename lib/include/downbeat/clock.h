/*
 * Downbeat's clocks, for those who study them: which synchronization schemes there are and what they are made of, the
 * offset between two processes' clocks, and the timestamps of single exchanges.
 *
 * Who only wants a common start or a global clock needs mpix_harmonize.h and nothing of this.
 *
 * A scheme is written as a name, with parameters in parentheses where they differ from their defaults; a parameter is a
 * number or another part with its own parameters:
 *
 *     hca3_offset
 *     hca3(fit=500,over=2,offset=skampi(min=10,max=100))
 *     hierarchical(nodes=hca3,within=skampi)
 *
 * That is the value of the setting `sync` (MPIX_Harmonize_set_info, DOWNBEAT_SYNC). Parsing is strict: an unknown name,
 * a parameter given twice, a value out of range are refused, never ignored.
 *
 * Conventions, thread safety and errors are those of mpix_harmonize.h.
 */
#ifndef DOWNBEAT_CLOCK_H_PUBLIC
#define DOWNBEAT_CLOCK_H_PUBLIC

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter of a part. */
typedef struct Downbeat_parameter {
    const char *name;    /* NULL ends a list */
    const char *value;   /* the default, as it would be written */
    const char *meaning; /* one line, with its unit */
    const char *kind;    /* NULL: a number; else the kind of part that it takes, as in Downbeat_parts */
    double low;          /* of a number: smallest and largest valid value */
    double high;
    int whole; /* of a number: 1 if it must be a whole one */
} Downbeat_parameter;

/* A part: a scheme, an offset estimator or a local clock. */
typedef struct Downbeat_part {
    const char *name;                     /* as in its paper */
    const char *summary;                  /* one line */
    const char *source;                   /* paper and section; "" where there is none to name */
    const Downbeat_parameter *parameters; /* ends with one whose name is NULL */
} Downbeat_part;

/* Downbeat_parts: all parts of a kind.
 *
 *   IN   kind  (string), one of
 *                "scheme"     who compares clocks with whom (setting sync)
 *                "offset"     estimators of the offset between two clocks
 *                "intercept"  where the intercept of a fit comes from
 *                "flat"       schemes that can serve between the nodes of a hierarchical one
 *                "level"      what can serve between its sockets and NUMA domains
 *                "within"     what can serve its lowest level
 *                "clock"      local clocks (setting clock)
 *
 * Returns a list that ends with NULL, the default first, or NULL if there is no such kind. Valid forever. Local; may be
 * called without MPI. */
const Downbeat_part *const *Downbeat_parts(const char *kind);

#define DOWNBEAT_MAX_MESSAGE 512

/* Downbeat_check: whether a text is a valid part.
 *
 *   IN   kind     as for Downbeat_parts, but "clock" (string)
 *   IN   text     as "hca3(fit=500)" (string)
 *   OUT  message  what is wrong and what would be valid, in one line without its end; "" if the text is valid (string
 *                 of at most DOWNBEAT_MAX_MESSAGE characters with its 0)
 *
 * Returns MPI_SUCCESS or MPI_ERR_ARG. Calls no error handler. Local; may be called without MPI. */
int Downbeat_check(const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]);

/* Which clock of a process timestamps are taken from: */
enum {
    DOWNBEAT_LOCAL = 0, /* its local clock, counted from when the communicator was prepared, never corrected */
    DOWNBEAT_GLOBAL = 1 /* its global clock of the communicator, as MPIX_Harmonize_time */
};

/* One exchange of timestamps: `sent` and `received` on the asker's clock; the answerer's clock showed `remote` at an
 * instant between them. Nanoseconds. */
typedef struct Downbeat_exchange {
    int64_t sent;
    int64_t remote;
    int64_t received;
} Downbeat_exchange;

/* Downbeat_record: exchanges between two processes, one after another.
 *
 *   IN   comm       communicator (handle), prepared: see mpix_harmonize.h
 *   IN   asker      rank that asks and receives the answers (integer)
 *   IN   answerer   another rank (integer)
 *   IN   timeline   DOWNBEAT_LOCAL or DOWNBEAT_GLOBAL
 *   IN   count      number of exchanges, >= 1 (integer)
 *   OUT  exchanges  array of count; significant at the asker only, elsewhere NULL will do
 *
 * Called by asker and answerer with the same arguments, but for exchanges; nobody else takes part. Errors: MPI_ERR_RANK
 * for ranks outside comm or two that are one, MPI_ERR_ARG for other arguments, MPI_ERR_OTHER if comm was never
 * prepared. */
int Downbeat_record(MPI_Comm comm, int asker, int answerer, int timeline, int count, Downbeat_exchange *exchanges);

/* What an estimator found. Seconds. */
typedef struct Downbeat_offset {
    double offset;    /* by which the answerer's clock is ahead of the asker's */
    double bound;     /* of the error of offset: truth lies within, whatever the messages took; grows by the drift that
                         setting max_skew allows for during the exchanges */
    double deviation; /* standard deviation of the offsets of the single exchanges */
    double rtt;       /* smallest round trip */
    double at;        /* for when offset holds, on the asker's clock */
    int exchanges;    /* how many it took */
} Downbeat_offset;

/* Downbeat_measure: the offset between two processes' clocks, by an estimator.
 *
 *   IN   comm       communicator (handle), prepared
 *   IN   asker      rank that asks and learns the offset (integer)
 *   IN   answerer   another rank (integer)
 *   IN   timeline   DOWNBEAT_LOCAL or DOWNBEAT_GLOBAL
 *   IN   estimator  of kind "offset", as "skampi(min=10,max=100)"; NULL for the default; significant at the asker
 *   OUT  found      significant at the asker, elsewhere NULL will do
 *
 * Called by asker and answerer; nobody else takes part. Errors as Downbeat_record; MPI_ERR_ARG also for an estimator
 * that is not valid, of which the asker prints a line; the answerer is then released without an error. */
int Downbeat_measure(MPI_Comm comm, int asker, int answerer, int timeline, const char *estimator,
                     Downbeat_offset *found);

#ifdef __cplusplus
}
#endif

#endif
