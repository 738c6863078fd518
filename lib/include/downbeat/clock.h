/*
 * Downbeat's clocks, for studying them: the available synchronization schemes and their components, the offset between
 * two processes' clocks, and the timestamps of single exchanges.
 *
 * For a common start or a global clock, mpix_harmonize.h is enough.
 *
 * A scheme is written as a name, followed by the parameters that differ from their defaults, in parentheses; a
 * parameter is a number or another component with its own parameters:
 *
 *     hca3_offset
 *     hca3(fit=500,over=2,offset=skampi(min=10,max=100))
 *     hierarchical(nodes=hca3,within=skampi)
 *
 * This is the value of the setting `sync` (MPIX_Harmonize_set_info, DOWNBEAT_SYNC). Parsing is strict: an unknown name,
 * a parameter given twice or a value out of range is an error, never ignored.
 *
 * Conventions, thread safety and errors are the same as in mpix_harmonize.h.
 */
#ifndef DOWNBEAT_CLOCK_H_PUBLIC
#define DOWNBEAT_CLOCK_H_PUBLIC

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter of a component. */
typedef struct Downbeat_parameter {
    const char *name;    /* NULL ends a list */
    const char *value;   /* default, as you would write it */
    const char *meaning; /* one line, with its unit */
    const char *kind;    /* NULL: a number; else a component of this kind (Downbeat_components), or a word that
                            `meaning` lists */
    double low;          /* numbers: smallest and largest valid value */
    double high;
    int whole; /* numbers: 1 if the value must be an integer */
} Downbeat_parameter;

/* A component, e.g. a scheme, an offset estimator, a local clock or a slack controller. */
typedef struct Downbeat_component {
    const char *name;                     /* as in its paper */
    const char *summary;                  /* one line */
    const char *source;                   /* paper and section; "" if unpublished */
    const Downbeat_parameter *parameters; /* list, terminated by a NULL name */
} Downbeat_component;

/* Downbeat_components: lists all components of a kind.
 *
 *   IN   kind  (string), one of
 *                "scheme"     clock synchronization schemes (setting sync)
 *                "offset"     estimators of the offset between two clocks
 *                "clock"      local clocks (setting clock)
 *                "slack"      methods that choose how far ahead deadlines are set (setting slack)
 *                "published"  configurations of papers (setting published); their parameters are of the kinds
 *                             "setting" and "option", one of downbeat-bench
 *
 * Returns a static list that starts with the default and ends with NULL, or NULL if the kind is unknown. Local; may be
 * called without MPI. */
const Downbeat_component *const *Downbeat_components(const char *kind);

#define DOWNBEAT_MAX_MESSAGE 512

/* Downbeat_check: checks whether a text is a valid component.
 *
 *   IN   kind     "scheme" or "offset" (string)
 *   IN   text     e.g. "hca3(fit=500)" (string)
 *   OUT  message  the problem and the valid values, in one line without a newline; "" if the text is valid (string of
 *                 at most DOWNBEAT_MAX_MESSAGE characters, including the terminating 0)
 *
 * Returns MPI_SUCCESS or MPI_ERR_ARG. Calls no error handler. Local; may be called without MPI. */
int Downbeat_check(const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]);

/* Clocks that timestamps can be taken from: */
enum {
    /* the process's local clock, from 0 when the communicator was prepared, never corrected */
    DOWNBEAT_LOCAL = 0,
    /* the global clock of the communicator, as MPIX_Harmonize_time returns it */
    DOWNBEAT_GLOBAL = 1
};

/* One exchange of timestamps, in nanoseconds: `sent` and `received` are on the asker's clock; between them, the
 * answerer's clock showed `remote`. */
typedef struct Downbeat_exchange {
    int64_t sent;
    int64_t remote;
    int64_t received;
} Downbeat_exchange;

/* Downbeat_record: records exchanges between two processes, one after another.
 *
 *   IN   comm       communicator (handle), prepared: see mpix_harmonize.h
 *   IN   asker      rank that asks and receives the answers (integer)
 *   IN   answerer   another rank (integer)
 *   IN   timeline   DOWNBEAT_LOCAL or DOWNBEAT_GLOBAL
 *   IN   count      number of exchanges, >= 1 (integer)
 *   OUT  exchanges  array of count; significant on the asker only, may be NULL on the answerer
 *
 * Call it on asker and answerer, with the same arguments except exchanges; no other process takes part. Errors:
 * MPI_ERR_RANK if a rank is outside comm or both are the same, MPI_ERR_ARG for other arguments, MPI_ERR_OTHER if comm
 * was never prepared. */
int Downbeat_record(MPI_Comm comm, int asker, int answerer, int timeline, int count, Downbeat_exchange *exchanges);

/* The result of an estimator. Times are seconds. */
typedef struct Downbeat_offset {
    double offset;    /* lead of the answerer's clock over the asker's */
    double bound;     /* largest possible error of offset, however long each message took; includes the drift that
                         setting max_skew allows during the exchanges */
    double deviation; /* standard deviation of the offsets of the single exchanges */
    double rtt;       /* smallest round trip */
    double at;        /* time at which offset holds, on the asker's clock */
    int exchanges;    /* number of exchanges */
} Downbeat_offset;

/* Downbeat_measure: measures the offset between two processes' clocks with an estimator.
 *
 *   IN   comm       communicator (handle), prepared
 *   IN   asker      rank that asks and gets the offset (integer)
 *   IN   answerer   another rank (integer)
 *   IN   timeline   DOWNBEAT_LOCAL or DOWNBEAT_GLOBAL
 *   IN   estimator  component of kind "offset", e.g. "skampi(min=10,max=100)"; NULL for the default; significant at the
 *                   asker
 *   OUT  result     significant on the asker only, may be NULL on the answerer
 *
 * Call it on asker and answerer; no other process takes part. Errors as for Downbeat_record, and MPI_ERR_ARG if the
 * estimator is not valid: the asker then prints one line, and the answerer returns without an error. */
int Downbeat_measure(MPI_Comm comm, int asker, int answerer, int timeline, const char *estimator,
                     Downbeat_offset *result);

/* Downbeat_true_offset: computes the true offset of this process's clock; only with the validation clock.
 *
 *   IN   comm      communicator (handle), prepared
 *   IN   timeline  DOWNBEAT_LOCAL or DOWNBEAT_GLOBAL
 *   OUT  offset    seconds by which this process's clock is ahead of process 0's at the same instant (double)
 *
 * Collective over comm. For the global clock, MPIX_Harmonize_true_error returns the same value. Errors as for
 * MPIX_Harmonize_true_error; MPI_ERR_ARG for any other timeline. */
int Downbeat_true_offset(MPI_Comm comm, int timeline, double *offset);

/* A process's local clock, and its map to the global clock of a communicator after the last clock synchronization. At a
 * reading of `ticks` + n the global clock shows `global` + t, t = n * `tick`, to within `bound` + t * `growth` +
 * t * t * `ramp` / 2. The expected error, as MPIX_Harmonize_expected_error, has the variance `variance` + t * (2 *
 * `cross` + t * (`rate` + t * `walk` / 3)), but at most a third of that bound's square. */
typedef struct Downbeat_clock {
    int64_t (*read)(const void *clock); /* reads the local clock, ticks; costs no more than the reading */
    const void *clock;                  /* argument of read */
    int64_t ticks;                      /* a reading of the local clock */
    int64_t global;  /* time of the global clock (MPIX_Harmonize_time) at that reading, nanoseconds */
    double tick;     /* nanoseconds of the global clock per tick */
    double bound;    /* MPIX_Harmonize_error_bound at `ticks`, nanoseconds */
    double growth;   /* growth of the bound, relative; 0 if the local clock is that of process 0 */
    double ramp;     /* growth of `growth`, relative per nanosecond; 0 if the local clock is that of process 0 */
    double variance; /* of the offset at `ticks`, nanoseconds squared */
    double cross;    /* covariance of offset and rate, nanoseconds */
    double rate;     /* variance of the rate, relative squared */
    double walk;     /* growth of the rate's variance, since frequencies wander, per nanosecond */
} Downbeat_clock;

/* Downbeat_get_clock: returns the clock and its map, for tools that take timestamps and convert them later.
 *
 *   IN   comm   communicator (handle), prepared
 *   OUT  clock  see the structure; `read` works until comm is freed or its settings change
 *
 * Local. To convert timestamps between two synchronizations, call it after each of them, and interpolate. Errors:
 * MPI_ERR_ARG if clock is NULL, MPI_ERR_OTHER if comm was never prepared. */
int Downbeat_get_clock(MPI_Comm comm, Downbeat_clock *clock);

/* A comparison of this process's clock with a partner's, and its residual from the consensus of all comparisons. */
typedef struct Downbeat_edge {
    int partner;     /* rank in comm */
    double residual; /* seconds by which the partner's clock seems to be ahead of the consensus: half of the path
                        asymmetry, if that differs from path to path */
} Downbeat_edge;

/* Downbeat_get_edges: returns the comparisons of the last clock synchronization, with sync=disciplined.
 *
 *   IN   comm     communicator (handle), prepared
 *   IN   capacity length of edges (integer)
 *   OUT  edges    the first `capacity` comparisons of this process with its partners (array)
 *   OUT  count    number of comparisons; 0 if the process has no partners: fewer than 32 clocks, another scheme, or
 *                 another process of its clock takes part (integer)
 *   OUT  scatter  seconds, standard deviation of the comparisons around the consensus; 0 if there are none
 *                 (double)
 *
 * Local. Errors: MPI_ERR_ARG if capacity is negative, count or scatter is NULL, or edges is NULL and capacity is not 0;
 * MPI_ERR_OTHER if comm was never prepared. */
int Downbeat_get_edges(MPI_Comm comm, int capacity, Downbeat_edge *edges, int *count, double *scatter);

/* Downbeat_version: returns the version of the loaded library, e.g. "0.1.0".
 *
 * Local; may be called before MPI_Init. */
const char *Downbeat_version(void);

#ifdef __cplusplus
}
#endif

#endif
