/*
 * Downbeat: MPI processes that start at the same instant.
 *
 * MPI_Barrier synchronizes processes in space only: nobody leaves before all have arrived. When each process leaves is
 * left open, and in practice they leave microseconds apart, in a pattern that depends on the barrier's algorithm. What
 * is measured behind a barrier carries that pattern. MPIX_Harmonize synchronizes in space and in time: nobody leaves
 * before all have arrived, and all leave at one instant, the deadline (Schuchart, Hunold, Bosilca: MPI Process
 * Synchronization in Space and Time, EuroMPI 2023).
 *
 *     int flag;
 *     MPIX_Harmonize(comm, &flag);
 *     double begin = MPI_Wtime();
 *     MPI_Reduce(..., comm);
 *     double time = MPI_Wtime() - begin;      // count it only if flag was 1 on every process
 *
 * How it works. The processes of a communicator agree on a global clock: process 0's, to which every other process
 * knows its offset and a bound on the error of that offset. A call gathers all processes at process 0, which then
 * chooses a deadline a little later than now (the slack) and broadcasts it; everyone waits until it has come. The slack
 * follows the machine in both directions. Clocks drift apart, so they are synchronized anew when the last time lies too
 * far back or the error bound has grown too wide, never merely because a deadline was missed.
 *
 * All state hangs on the communicator: a private duplicate carries the traffic, so that nothing here can match a
 * message of the application, and is freed with the communicator. The first collective call on a communicator
 * (MPIX_Harmonize, MPIX_Harmonize_delayed, MPIX_Harmonize_sync, MPIX_Harmonize_set_info) prepares it. Different
 * communicators are independent, also in different threads.
 *
 * Times are seconds as double, relative to the epoch of the communicator's global clock, which is the moment at which
 * the communicator was prepared; so a double keeps fractions of a nanosecond for weeks.
 *
 * Thread level. Any level that MPI was initialized with will do. As with every collective of MPI, two threads must not
 * call on the same communicator at the same time.
 *
 * Errors. Every function returns MPI_SUCCESS or an error code after it has called the error handler of comm, as MPI's
 * own functions do; where comm is MPI_COMM_NULL, the handler of MPI_COMM_SELF (before MPI-4, of MPI_COMM_WORLD). A call
 * before initialization or after finalization of MPI reaches no handler: it prints one line and returns MPI_ERR_OTHER.
 * Classes:
 *
 *     MPI_ERR_COMM        comm is MPI_COMM_NULL or an intercommunicator
 *     MPI_ERR_ARG         an output argument is NULL; a delay is negative or not finite; an environment variable
 *                         DOWNBEAT_* is unknown or has a value that it cannot have
 *     MPI_ERR_INFO_KEY    an info key is unknown
 *     MPI_ERR_INFO_VALUE  an info key has a value that it cannot have
 *     MPI_ERR_OTHER       MPI is not initialized or already finalized; a question about a communicator that was never
 *                         prepared, or about a call that was never made; a clock that this machine does not have
 *     any other           as returned by the MPI function that failed
 *
 * Where a class leaves open what was wrong, one line on standard error names the value and what would be valid.
 */
#ifndef MPIX_HARMONIZE_H
#define MPIX_HARMONIZE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MPIX_Harmonize: returns on all processes of comm at one instant.
 *
 *   IN   comm   communicator (handle); an intracommunicator
 *   OUT  flag   1 if this process was there in time and left at the deadline, 0 if it came too late or left later than
 *               the tolerance (the kernel took the processor away during the wait); local to this process (logical)
 *
 * Collective over comm. Blocks until all processes of comm have called it. A flag of 0 is no error: what is measured
 * behind the call is to be repeated. Whether all flags were 1 is told, at no cost, by MPIX_Harmonize_verdict after the
 * next call. */
int MPIX_Harmonize(MPI_Comm comm, int *flag);

/* MPIX_Harmonize_delayed: as MPIX_Harmonize, but leaves `delay` later than the common deadline.
 *
 *   IN   comm   communicator (handle); an intracommunicator
 *   IN   delay  seconds from the deadline to the return of this process, >= 0; may differ between processes (double)
 *   OUT  flag   1 if this process left at deadline + delay, 0 if later (logical)
 *
 * Collective over comm, and may be matched by MPIX_Harmonize on other processes. What arrival patterns are made of. */
int MPIX_Harmonize_delayed(MPI_Comm comm, double delay, int *flag);

/* MPIX_Harmonize_deadline: the common deadline of the last call.
 *
 *   IN   comm      communicator (handle)
 *   OUT  deadline  seconds on the global clock of comm, without this process's delay; the same on all processes
 * (double)
 *
 * Local. */
int MPIX_Harmonize_deadline(MPI_Comm comm, double *deadline);

/* MPIX_Harmonize_verdict: whether every process's flag was 1 in the call before the last one.
 *
 *   IN   comm     communicator (handle)
 *   OUT  verdict  1 if all flags were 1, 0 if any was 0, MPI_UNDEFINED if there was no such call; the same on all
 *                 processes (integer)
 *
 * Local. The flags of a call travel with the reduction of the next call, so nobody needs to reduce over flags; one more
 * call after a loop gives the verdict on its last round. */
int MPIX_Harmonize_verdict(MPI_Comm comm, int *verdict);

/* MPIX_Harmonize_time: the global clock now.
 *
 *   IN   comm  communicator (handle)
 *   OUT  time  seconds on the global clock of comm (double)
 *
 * Local. Successive values rise, but for the correction that a clock synchronization makes on processes other than 0.
 */
int MPIX_Harmonize_time(MPI_Comm comm, double *time);

/* MPIX_Harmonize_wait_until: returns at an instant of the global clock.
 *
 *   IN   comm  communicator (handle), prepared
 *   IN   time  seconds, as MPIX_Harmonize_time gives them (double)
 *   OUT  flag  1 if this process left within setting tolerance of `time`, 0 if later (logical)
 *
 * Local. A time that has passed returns at once, with flag 0. Errors: MPI_ERR_ARG if `time` is not finite or more than
 * 3e9 away from 0; MPI_ERR_OTHER if comm was never prepared. */
int MPIX_Harmonize_wait_until(MPI_Comm comm, double time, int *flag);

/* MPIX_Harmonize_error_bound: how far this process's global clock can be from process 0's now.
 *
 *   IN   comm   communicator (handle)
 *   OUT  bound  seconds; half the width of the interval that the timestamps of the last clock synchronization leave for
 * the offset, summed over the chain of processes up to process 0, plus the drift allowed for since then (setting
 * max_skew) (double)
 *
 * Local. 0 on process 0. */
int MPIX_Harmonize_error_bound(MPI_Comm comm, double *bound);

/* MPIX_Harmonize_sync: synchronizes the clocks of comm now.
 *
 *   IN   comm  communicator (handle); an intracommunicator
 *
 * Collective over comm. Needed only by who reads the global clock without calling MPIX_Harmonize for a long time. */
int MPIX_Harmonize_sync(MPI_Comm comm);

/* MPIX_Harmonize_true_error: the true error of this process's global clock, known only under the validation clock.
 *
 *   IN   comm   communicator (handle); an intracommunicator
 *   OUT  error  seconds by which this process's global clock is ahead of process 0's at one and the same instant
 * (double)
 *
 * Collective over comm. Under the validation clock (setting validation) on one machine all processes share a true time,
 * so that the error is computed, not measured: its resolution is that of the arithmetic. MPI_ERR_OTHER without that
 * clock, or where the processes do not share a true time. */
int MPIX_Harmonize_true_error(MPI_Comm comm, double *error);

/* What a communicator has seen, since it was prepared. Local counts, but for slack and verdict counts, which agree on
 * all processes. */
typedef struct MPIX_Harmonize_stats {
    long long calls;         /* harmonized starts */
    long long late_arrivals; /* flag 0 here: the deadline had passed when this process learned it */
    long long late_exits;    /* flag 0 here: left later than the tolerance, the wait was interrupted */
    long long invalid_calls; /* calls in which any process's flag was 0; the last call is not yet counted */
    long long syncs;         /* clock synchronizations */
    double sync_seconds;     /* time spent in clock synchronizations */
    long long sync_messages; /* that this process sent or received for them, collective operations not counted */
    double slack;            /* seconds from the decision of process 0 to the deadline, last call */
    double lag;              /* seconds from the decision to the moment this process was ready, last call */
    double error_bound;      /* as MPIX_Harmonize_error_bound, now */
    int clock_domains;       /* groups of processes that share a clock, verified; synchronized by one of each */
    int oversubscribed;      /* 1 where more processes than processors share a node: waits yield the processor */
} MPIX_Harmonize_stats;

/* MPIX_Harmonize_get_stats: what a communicator has seen.
 *
 *   IN   comm   communicator (handle)
 *   OUT  stats  see the structure
 *
 * Local. */
int MPIX_Harmonize_get_stats(MPI_Comm comm, MPIX_Harmonize_stats *stats);

/* MPIX_Harmonize_set_info: changes settings of a communicator.
 *
 *   IN   comm  communicator (handle); an intracommunicator
 *   IN   info  keys and values (handle); MPI_INFO_NULL leaves all as they are
 *
 * Collective over comm; keys and values must be the same on all processes. Either all keys take effect or none. The
 * environment gives the defaults: key `max_age` is DOWNBEAT_MAX_AGE. Unknown keys and unknown variables DOWNBEAT_* are
 * refused. Times are seconds, as in 0.5e-6.
 *
 *   clock       local clock: tsc, monotonic, monotonic_raw, realtime, wtime.
 *               Default: tsc where it is invariant, else monotonic_raw
 *   sync        clock synchronization scheme with its parts, as "hca3(over=2,offset=skampi(max=50))"; downbeat/clock.h
 *               tells the names. Default: hca3_offset
 *   share       verified: processes that share a clock, verifiably, are synchronized as one; never: each for itself.
 *               Default: verified
 *   slack       auto, or a fixed time from decision to deadline. Default: auto
 *   tolerance   a process that leaves later than this after the deadline has flag 0. Default: 0.5e-6
 *   max_age     clocks are synchronized anew after this time. Default: auto, 1.0, or 100 times that over which the
 *               scheme spreads its fit points
 *   max_error   and when drift may have carried the error bound beyond this. Default: 5e-6
 *   max_skew    relative difference in frequency that is allowed for between any two clocks. Default: 20e-6
 *   max_wander  by which that difference may change while a fitted drift is in use. Default: 1e-6
 *   validation  off, or what to add to the local clock, seeded, per process, as "offset=1e-3,skew=20e-6,wander=1e-6,
 *               seed=1,ranks_per_clock=1" (docs/validation.md). Default: off
 *   regions     file that MPI_Finalize writes regions to (downbeat/region.h), or off. Default: downbeat-regions.json
 *   regions_table  prints a table of them as well: off, stdout, stderr. Default: off
 *
 * A change of clock, sync, share or validation resynchronizes the clocks. */
int MPIX_Harmonize_set_info(MPI_Comm comm, MPI_Info info);

/* MPIX_Harmonize_get_info: all settings in force.
 *
 *   IN   comm       communicator (handle)
 *   OUT  info_used  new info object with every key of MPIX_Harmonize_set_info; the caller frees it (handle)
 *
 * Local. */
int MPIX_Harmonize_get_info(MPI_Comm comm, MPI_Info *info_used);

#ifdef __cplusplus
}
#endif

#endif
