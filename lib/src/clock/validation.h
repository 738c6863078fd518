/* The validation clock: a local clock plus a known error, different for each process.
 *
 * On one machine all processes can read the same clock. That clock is the true time; each process is then given
 *
 *     f(x) = x + offset + skew x + wander(x)          x: true time since the communicator was prepared
 *
 * with its own random offset and skew, and a wander of frequency that is a sum of slow sines. Since f is known, the
 * error of every clock synchronization is known exactly. See docs/clock-experiments.md. */
#ifndef DOWNBEAT_VALIDATION_H
#define DOWNBEAT_VALIDATION_H

#include <stddef.h>
#include <stdint.h>

struct db_clock;
struct db_validation_clock;

/* Setting `validation`. */
struct db_validation {
    int enabled;            /* 0: off; the other members do not matter then */
    double offset;          /* largest offset, s: offsets are uniform in [-offset, offset] */
    double skew;            /* largest skew, relative: skews are uniform in [-skew, skew] */
    double wander;          /* largest change of frequency by the wander, relative */
    double seed;            /* seed of all draws; this and the next two are integers */
    double ranks_per_clock; /* number of consecutive ranks that share a clock, like the processes of a node */
    double false_claim; /* 1: all clocks have the same identity although they differ; the verification of domains must
                           detect that */
};

/* Parses `text`: "off", or e.g. "offset=1e-3,seed=7". Returns NULL on success, else a description of the valid values.
 */
const char *db_validation_parse(struct db_validation *validation, const char *text);

/* Formats the specification as db_validation_parse reads it. */
void db_validation_format(const struct db_validation *validation, char *text, size_t size);

/* Returns 1 if two specifications are equal. */
int db_validation_same(const struct db_validation *a, const struct db_validation *b);

/* Wraps `clock`, which must be open, in the validation clock of `rank`; db_clock_close frees it. True time is (ticks -
 * origin) * ns_per_tick of the inner (wrapped) clock; `origin` and `ns_per_tick` must be the same on all processes.
 * Returns 0, or -1 if out of memory. */
int db_validation_wrap(struct db_clock *clock, const struct db_validation *validation, int rank, int64_t origin,
                       double ns_per_tick);

/* Identity of the wrapped clock, the same on all processes that share the true time. */
const char *db_validation_true_identity(const struct db_clock *clock);

/* True time now, in ticks of the inner clock. */
int64_t db_validation_true_ticks(const struct db_clock *clock);

/* The reading of the validation clock, in ns, when the inner clock reads `true_ticks`. */
double db_validation_at(const struct db_clock *clock, int64_t true_ticks);

/* Returns 1 if `clock` is a validation clock. */
int db_validation_wraps(const struct db_clock *clock);

#endif
