/*
 * Downbeat: MPI processes that start at the same instant.
 *
 * MPI_Barrier synchronizes processes in space only: no process leaves before all have arrived. It does not define when
 * each process leaves; in practice they leave microseconds apart, in a pattern that depends on the barrier's algorithm,
 * and any measurement after a barrier includes that pattern. MPIX_Harmonize synchronizes in space and in time: no
 * process leaves before all have arrived, and all leave at the same instant, the deadline (Schuchart, Hunold, Bosilca:
 * MPI Process Synchronization in Space and Time, EuroMPI 2023).
 *
 *     int flag;
 *     MPIX_Harmonize(comm, &flag);
 *     double begin = MPI_Wtime();
 *     MPI_Reduce(..., comm);
 *     double time = MPI_Wtime() - begin;      // use it only if flag was 1 on every process
 *
 * How it works. The global clock of a communicator is that of process 0. Every other process estimates its clock offset
 * and rate relative to it, with an expected error and a hard error bound. A call has these phases:
 *
 *     1. Exchange.     If processes share memory, from the 17th call on, all exchange their times of arrival. Each
 *                      computes the same deadline: the last arrival plus the slack, which adapts up and down. Then 5.
 *     2. Gather.       Otherwise, and if any process needs a decision of process 0, all report to process 0. Then 3.
 *     3. Decide.       Process 0 broadcasts a deadline, now plus the slack (then 5), or the decision to synchronize
 *                      clocks first (then 4).
 *     4. Synchronize.  Clocks are synchronized when the expected error or the error bound has become too large, but
 *                      not because a deadline was missed. Then 2 again.
 *     5. Wait.         Every process waits until its copy of the global clock shows the deadline.
 *     6. Released.     The call returns with its flag. The next call reports the flag to all processes.
 *
 * All state belongs to the communicator: a private duplicate carries the library's messages, so they never match those
 * of the application, and is freed with the communicator. The first collective call on a communicator (MPIX_Harmonize,
 * MPIX_Harmonize_delayed, MPIX_Harmonize_sync, MPIX_Harmonize_set_info) prepares it. Different communicators are
 * independent, also in different threads.
 *
 * Times are seconds as double since the communicator was prepared, the epoch of its global clock, so a double resolves
 * fractions of a nanosecond for weeks.
 *
 * Thread level. Any level that MPI was initialized with works. As with MPI's collectives, two threads must not call
 * these functions on the same communicator at the same time.
 *
 * Errors. Like MPI's functions, every function returns MPI_SUCCESS, or calls the error handler of comm and returns an
 * error code. If comm is MPI_COMM_NULL, the handler of MPI_COMM_SELF is called (before MPI-4, that of MPI_COMM_WORLD).
 * A call before MPI is initialized or after it is finalized has no handler: it prints one line and returns
 * MPI_ERR_OTHER. Error classes:
 *
 *     MPI_ERR_COMM        comm is MPI_COMM_NULL or an intercommunicator
 *     MPI_ERR_ARG         an output argument is NULL; a delay is negative or not finite; an environment variable
 *                         DOWNBEAT_* is unknown or has an invalid value
 *     MPI_ERR_INFO_KEY    an info key is unknown
 *     MPI_ERR_INFO_VALUE  an info key has an invalid value
 *     MPI_ERR_OTHER       MPI is not initialized or already finalized; comm was never prepared, or there was no call
 *                         to report on; the clock is not available on this machine
 *     MPIX_ERR_PROC_FAILED, MPIX_ERR_REVOKED
 *                         a process of comm has failed, or comm was revoked, before or during the call. Only if MPI
 *                         survives process failures (Open MPI 5 with --with-ft ulfm); otherwise it ends the program
 *     any other           as returned by the MPI function that failed
 *
 * If the class does not identify the problem, one line on standard error names the bad value and the valid ones.
 */
#ifndef MPIX_HARMONIZE_H
#define MPIX_HARMONIZE_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MPIX_Harmonize: returns on all processes of comm at the same instant.
 *
 *   IN   comm   communicator (handle); an intracommunicator
 *   OUT  flag   1 if this process arrived in time and left at the deadline; 0 if it arrived too late, or left later
 *               than the tolerance (e.g. the kernel preempted it during the wait), or its clock's expected error is
 *               too large (setting flag_error); local to this process (logical). With slack=published
 *               (MPIX_Harmonize_set_info), 0 only if it arrived too late
 *
 * Collective over comm. Blocks until all processes of comm have called it. flag == 0 is not an error; discard and
 * repeat the measurement. After the next call, MPIX_Harmonize_verdict reports at no cost whether all flags were 1.
 *
 * On a busy machine the kernel may preempt the process between the last reading of the clock and your first
 * instruction, although the flag is 1. Your own first timestamp shows that:
 *
 *     MPIX_Harmonize(comm, &flag);
 *     MPIX_Harmonize_time(comm, &begin);
 *     MPI_Reduce(..., comm);
 *     MPIX_Harmonize_time(comm, &end);
 *     MPIX_Harmonize_deadline(comm, &deadline);
 *     flag = flag && begin - deadline <= 0.5e-6;      // the setting tolerance */
int MPIX_Harmonize(MPI_Comm comm, int *flag);

/* MPIX_Harmonize_delayed: like MPIX_Harmonize, but leaves `delay` after the common deadline.
 *
 *   IN   comm   communicator (handle); an intracommunicator
 *   IN   delay  seconds from the deadline to the return of this process, >= 0; may differ between processes (double)
 *   OUT  flag   1 if this process left at deadline + delay, 0 if later (logical)
 *
 * Collective over comm; other processes may call MPIX_Harmonize instead. Use it to create arrival patterns. */
int MPIX_Harmonize_delayed(MPI_Comm comm, double delay, int *flag);

/* MPIX_Harmonize_deadline: reports the common deadline of the last call.
 *
 *   IN   comm      communicator (handle)
 *   OUT  deadline  seconds on the global clock of comm, without this process's delay; the same on all processes
 *                  (double)
 *
 * Local. */
int MPIX_Harmonize_deadline(MPI_Comm comm, double *deadline);

/* MPIX_Harmonize_verdict: reports if all flags were 1 in the call before the last one.
 *
 *   IN   comm     communicator (handle)
 *   OUT  verdict  1 if all flags were 1, 0 if any was 0, MPI_UNDEFINED if there was no such call; the same on all
 *                 processes (integer)
 *
 * Local. The flags of a call are reported in the next call, so no reduction over flags is needed; one more call after a
 * loop gives the verdict on its last iteration. */
int MPIX_Harmonize_verdict(MPI_Comm comm, int *verdict);

/* MPIX_Harmonize_lateness: reports the lateness of the latest process in the call before the last one.
 *
 *   IN   comm      communicator (handle)
 *   OUT  lateness  seconds from the time at which a process should have left (the deadline plus its delay) until it
 *                  left, by its own clock; the largest of all processes; the same on all processes (double)
 *
 * Local. Reported in the next call, like the flags (MPIX_Harmonize_verdict). Use it to set a limit of your own: with
 * thousands of processes one of them is late in most calls. It does not contain the error of the clock
 * (MPIX_Harmonize_expected_error). MPI_ERR_OTHER if there was no such call. */
int MPIX_Harmonize_lateness(MPI_Comm comm, double *lateness);

/* MPIX_Harmonize_time: reads the global clock.
 *
 *   IN   comm  communicator (handle)
 *   OUT  time  seconds on the global clock of comm (double)
 *
 * Local. Successive values increase, except that a clock synchronization may correct them on processes other than 0. */
int MPIX_Harmonize_time(MPI_Comm comm, double *time);

/* MPIX_Harmonize_wait_until: waits until a time of the global clock.
 *
 *   IN   comm  communicator (handle), prepared
 *   IN   time  seconds, as returned by MPIX_Harmonize_time (double)
 *   OUT  flag  1 if this process left within the setting `tolerance` of `time`, 0 if later (logical)
 *
 * Local. If the time has passed already, returns at once with flag 0. Errors: MPI_ERR_ARG if `time` is not finite or
 * more than 3e9 away from 0; MPI_ERR_OTHER if comm was never prepared. */
int MPIX_Harmonize_wait_until(MPI_Comm comm, double time, int *flag);

/* MPIX_Harmonize_error_bound: reports the largest possible difference between this process's global clock and process
 * 0's now.
 *
 *   IN   comm   communicator (handle)
 *   OUT  bound  seconds; half the width of the interval that the timestamps of the last clock synchronization allow for
 *               the offset, summed over the chain of processes up to process 0, plus the drift allowed since then
 *               (setting max_skew) (double)
 *
 * Local. 0 on process 0. */
int MPIX_Harmonize_error_bound(MPI_Comm comm, double *bound);

/* MPIX_Harmonize_expected_error: reports the expected difference between this process's global clock and process 0's
 * now.
 *
 *   IN   comm   communicator (handle)
 *   OUT  error  seconds, one standard deviation: the true error is within it in 68 %, within twice its value in 95 % of
 *               all cases. It includes path asymmetry that differs from path to path, estimated from 32 clocks on
 *               (docs/clocks.md); with fewer, from 1.2 % of a round trip and the observed variation of the path. It
 *               does not include path asymmetry that all paths of a process share (double)
 *
 * Local. 0 on process 0. With sync=disciplined it is an estimate from all measurements; with other schemes it is the
 * standard deviation of a uniform distribution within the error bound. */
int MPIX_Harmonize_expected_error(MPI_Comm comm, double *error);

/* MPIX_Harmonize_sync: synchronizes the clocks of comm now.
 *
 *   IN   comm  communicator (handle); an intracommunicator
 *
 * Collective over comm. Needed only if you read the global clock for a long time without calling MPIX_Harmonize. */
int MPIX_Harmonize_sync(MPI_Comm comm);

/* MPIX_Harmonize_true_error: computes the true error of this process's global clock; only with the validation clock.
 *
 *   IN   comm   communicator (handle); an intracommunicator
 *   OUT  error  seconds by which this process's global clock is ahead of process 0's at the same instant (double)
 *
 * Collective over comm. With the validation clock (setting validation) on one machine, all processes share a true time,
 * so the error is computed, not measured: only rounding limits its resolution. MPI_ERR_OTHER without that clock, or if
 * the processes do not share a true time. */
int MPIX_Harmonize_true_error(MPI_Comm comm, double *error);

/* Statistics of a communicator since it was prepared. The counts are local, except slack and the counts of calls, which
 * are the same on all processes. */
typedef struct MPIX_Harmonize_stats {
    long long calls;          /* harmonized starts */
    long long late_arrivals;  /* flag 0 here: the deadline had passed when this process received it */
    long long late_exits;     /* flag 0 here: left later than the tolerance, the wait was interrupted */
    long long unsure_clocks;  /* flag 0 here: the clock's expected error was too large, or the clock was contradicted */
    long long contradictions; /* contradictions of this process's clock with max_skew and max_wander */
    long long unflagged_exits; /* flag 1 here, but left later than the tolerance: only with slack=published */
    long long invalid_calls;   /* calls in which any process's flag was 0; excludes the last call */
    long long syncs;           /* clock synchronizations */
    double sync_seconds;       /* time spent in clock synchronizations */
    double sync_share;         /* sync_seconds divided by the time since the communicator was prepared */
    long long sync_messages;   /* messages that this process has sent or received for them, without collectives */
    double slack;              /* seconds from the decision of process 0 to the deadline, last call */
    double lag;                /* seconds from the decision until this process was ready to wait, last call */
    double error_bound;        /* MPIX_Harmonize_error_bound, now */
    double expected_error;     /* MPIX_Harmonize_expected_error, now */
    double sync_error;         /* expected error directly after the last synchronization, without path asymmetry */
    double flag_error;  /* flags are 0 here while sync_error is larger than this; infinite: flags do not depend on it */
    double tolerance;   /* current tolerance, seconds; changes with the setting tolerance=auto */
    int clock_domains;  /* groups of processes verified to share a clock; one process of each is synchronized */
    int memory_domains; /* groups of processes that agree through shared memory; all processes if by messages */
    int oversubscribed; /* 1 if a node has more processes than processors: waits yield the processor */
} MPIX_Harmonize_stats;

/* MPIX_Harmonize_get_stats: reports the statistics of a communicator.
 *
 *   IN   comm   communicator (handle)
 *   OUT  stats  see the structure
 *
 * Local. */
int MPIX_Harmonize_get_stats(MPI_Comm comm, MPIX_Harmonize_stats *stats);

/* MPIX_Harmonize_set_info: changes settings of a communicator.
 *
 *   IN   comm  communicator (handle); an intracommunicator
 *   IN   info  keys and values (handle); MPI_INFO_NULL changes nothing
 *
 * Collective over comm; keys and values must be the same on all processes, else it is an error on all (MPI_ERR_ARG).
 * Either all keys take effect or none.
 * Environment variables set the defaults: DOWNBEAT_MAX_AGE is key `max_age`. Unknown keys and unknown variables
 * DOWNBEAT_* are errors. Times are seconds, e.g. 0.5e-6.
 *
 *   clock          local clock: tsc, monotonic_raw, monotonic, realtime, wtime.
 *                  Default: tsc if it is invariant, else monotonic_raw
 *   sync           clock synchronization scheme with its components, e.g. "hca3(over=2,offset=skampi(max=50))";
 *                  downbeat/clock.h lists the names. Default: disciplined
 *   share          verified: processes verified to share a clock are synchronized as one; never: each individually.
 *                  Default: verified
 *   transport      how processes agree on the deadline. Default: auto
 *                    messages   a reduction and a broadcast
 *                    shared     cache lines of shared memory, if all processes share memory, else messages
 *                    nodes      cache lines of shared memory within each node, messages between nodes
 *                    auto       messages for the first 16 calls, then shared or nodes; with slack=published, messages
 *   slack          time from decision to deadline. Default: auto
 *                    auto       adapts up and down
 *                    a number   fixed, seconds
 *                    published  Alg. 1 of Schuchart 2023, for comparison. Starts with twice the mean time of a
 *                               broadcast; each miss raises the slack by half, permanently, and synchronizes the
 *                               clocks. Clocks are also synchronized 1.0 s after the last time (or max_age, if set),
 *                               regardless of max_error. The flag is decided before the wait, so tolerance does
 *                               not matter, and a process interrupted during the wait has flag 1 (see
 *                               unflagged_exits)
 *   published      off, or the configuration of a paper: schuchart2023, hunold2015, hoefler2008, niethammer2016
 *                  (docs/clocks.md, As published). Its settings are applied before all other keys and variables.
 *                  Default: off
 *   tolerance      a process that leaves later than this after the deadline has flag 0. Default: 0.5e-6. auto: begins
 *                  with 0.5e-6; doubles, once or several times, if the clocks' expected error is too large for it
 *                  after eight synchronizations in a row, and halves again if the error is small enough (the current
 *                  tolerance is in MPIX_Harmonize_stats)
 *   flag_error     a process whose expected error, without path asymmetry, is above this has flag 0; or off.
 *                  Default: auto, with sync=disciplined an eighth of the tolerance (a fifth for two processes), else
 *                  off
 *   max_age        clocks are synchronized again after this time. Default: auto, 1.0 s, or 100 times the time over
 *                  which the scheme spreads its fit points if that is longer
 *   max_error      clocks are synchronized when drift may have raised the error bound above this, and above 1.25 times
 *                  its value directly after the last synchronization. Default: 5e-6
 *   target_error   clocks are synchronized when the expected error is above this, and above 1.5 times its value
 *                  directly after the last synchronization. Default: auto, 25e-9 with sync=disciplined unless max_age
 *                  is set, else off. Unless max_age is set, synchronizations take at most 1 % of the time, and 10 % of
 *                  the first two seconds if flags would be 0 without them; an advance of twelve synchronizations is
 *                  paid back within 20 s
 *   max_skew       largest relative difference in frequency between any two clocks, assumed until it is measured.
 *                  Default: 650e-6, for oscillators within 300 ppm
 *   max_wander     largest sudden change of that difference; sustained changes of 200 ppb per s are allowed in
 *                  addition. Default: 0.2e-6. A clock that contradicts max_skew or max_wander has flag 0 until it is
 *                  synchronized without contradiction; that is counted, and printed on standard error once
 *   validation     off, or the error to add to each process's local clock, seeded, e.g.
 *                  "offset=1e-3,skew=20e-6,wander=1e-6,seed=1,ranks_per_clock=1" (docs/clock-experiments.md).
 *                  Default: off
 *
 * A change of clock, sync, share or validation synchronizes the clocks again. */
int MPIX_Harmonize_set_info(MPI_Comm comm, MPI_Info info);

/* MPIX_Harmonize_get_info: reports all settings in force.
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
