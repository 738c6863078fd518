/* The flag: says of this process and of this call whether it left in time, and is decided after the wait. */
#define _POSIX_C_SOURCE 200809L

#include "conformance.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* The flag before a call; after it too, if the call did not write it. */
enum { UNWRITTEN = -4711 };

static int is_true(int flag) {
    expect(flag != UNWRITTEN, "a call did not write its flag");
    return flag != 0;
}

/* Whether process `of`, or any if it is negative, has a true flag in calls that nothing disturbs: in AGAIN of them, and
 * in all of a quarter of a second. The number of calls alone will not do: 200 of 0.5 us are over before a process that
 * was interrupted has its processor back. */
enum { AGAIN = 200 };
static const double SETTLED = 0.25; /* seconds; on a busy machine a process may wait for a processor for some 10 ms */

static int ever_true(const struct run *run, MPI_Comm comm, int of) {
    const double begin = now();
    int go_on = 1;
    while (go_on > 0) {
        int good = 0;
        for (int i = 0; i < AGAIN; ++i) {
            int flag = UNWRITTEN;
            OK(HARMONIZE(comm, &flag));
            good |= is_true(flag) && (of < 0 || run->rank == of);
        }
        MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MAX, run->world);
        if (good)
            return 1;
        go_on = now() - begin < SETTLED;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, run->world);
    }
    return 0;
}

/* Some flag must be true. */
static void sometimes_true(const struct run *run) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int good = ever_true(run, comm, -1);
    MPI_Comm_free(&comm);
    expect(good, "no process had a true flag in any of %d calls, nor in %.2g s", AGAIN, SETTLED);
}

/* This process's calls while one process was stopped again and again. */
struct tally {
    int late;       /* calls that this process left long after the first of its node */
    int late_true;  /* with a true flag all the same */
    int spared;     /* calls in which another process was late, and this one was not and has a true flag */
    int preempted;  /* how often it lost its processor meanwhile */
    double call;    /* seconds from one exit to the next, in the quickest block */
    double reading; /* seconds that a reading of the clock takes */
};

static const double STOPPED = 4e-3; /* seconds */
static const double LATE = 2e-3;    /* half of that: longer is a stop, not noise */
static const double BLOCK = 8e-3;   /* calls between two checks of the helper take about this long */
static const int FEWEST = 30;       /* stops, and late exits, that are judged */
static const int WANTED = 100;      /* of both, where each process has a processor: decides as surely as stated below */
static const int MOST = 300;        /* stops */
enum { LONGEST_BLOCK = 2000 };
enum { WAY_OUT = 3 }; /* readings of the clock, from the decision on the flag to our timestamp */

/* How many calls take about BLOCK, if the last ones took so long; the same on all processes. */
static int calls_per_block(const struct run *run, double seconds, int calls) {
    double wanted = calls * BLOCK / seconds;
    calls = wanted < 1.0 ? 1 : wanted > LONGEST_BLOCK ? LONGEST_BLOCK : (int)wanted;
    MPI_Bcast(&calls, 1, MPI_INT, 0, run->world);
    return calls;
}

static void count(const struct run *run, int calls, const double *left, const int *flags, struct tally *tally) {
    static double first[LONGEST_BLOCK];
    static int late[LONGEST_BLOCK];
    static int any[LONGEST_BLOCK];
    MPI_Allreduce(left, first, calls, MPI_DOUBLE, MPI_MIN, run->node);
    for (int i = 0; i < calls; ++i)
        late[i] = left[i] - first[i] > LATE;
    MPI_Allreduce(late, any, calls, MPI_INT, MPI_MAX, run->world);
    for (int i = 0; i < calls; ++i) {
        tally->late += late[i];
        tally->late_true += late[i] && flags[i];
        tally->spared += any[i] && !late[i] && flags[i];
    }
}

/* With more processes than processors, a process without one comes late, and all others wait for it. */
static int crowded(const struct run *run) { return run->node_size > sysconf(_SC_NPROCESSORS_ONLN); }

/* Calls back to back, during which the last process is stopped at random moments. A stop between the message that says
 * "I have come" and the deadline makes it leave long after the others. A stop before that message keeps all others,
 * too, and no flag shows one after it was decided: shares are judged, not single calls. */
static int stop_and_count(const struct run *run, MPI_Comm comm, struct tally *tally) {
    static double left[LONGEST_BLOCK];
    static int flags[LONGEST_BLOCK];
    const int victim = run->size - 1;
    const int wanted = crowded(run) ? FEWEST : WANTED;
    const double begin = now();
    int calls = 1;
    int stops = 0;
    for (int go_on = 1; go_on; ++stops) {
        if (run->rank == victim)
            stopper_ask(BLOCK / 2, STOPPED);
        for (int idle = 0; !idle;) {
            const double block_begin = now();
            for (int i = 0; i < calls; ++i) {
                flags[i] = UNWRITTEN;
                OK(HARMONIZE(comm, &flags[i]));
                left[i] = now();
            }
            const double call = (left[calls - 1] - block_begin) / calls;
            tally->call = call < tally->call ? call : tally->call;
            for (int i = 0; i < calls; ++i)
                flags[i] = is_true(flags[i]);
            count(run, calls, left, flags, tally);
            idle = run->rank == victim && stopper_idle();
            MPI_Bcast(&idle, 1, MPI_INT, victim, run->world);
            calls = calls_per_block(run, now() - block_begin, calls);
        }
        go_on = (stops < wanted || tally->late < wanted) && stops < MOST && now() - begin < run->patience;
        MPI_Bcast(&go_on, 1, MPI_INT, victim, run->world);
    }
    return stops;
}

/* Whether the victim has another process of its node to be compared with. */
static int comparable(const struct run *run) {
    int node_size = run->node_size;
    MPI_Bcast(&node_size, 1, MPI_INT, run->size - 1, run->world);
    if (node_size < 2)
        skip("needs the last process and another one on one node");
    return node_size >= 2;
}

/* How often this process has lost its processor to another one. */
static int preemptions(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int)usage.ru_nivcsw : 0;
}

/* Seconds that a reading of the clock takes. */
static double reading_time(void) {
    enum { BATCHES = 20, READINGS = 500 };
    double shortest = 1.0;
    for (int batch = 0; batch < BATCHES; ++batch) {
        const double begin = now();
        double end = begin;
        for (int i = 0; i < READINGS; ++i)
            end = now();
        shortest = end - begin < shortest ? end - begin : shortest;
    }
    return shortest / READINGS;
}

/* The largest number of events that is left to chance: of `trials`, each with probability `share` < 1, more come in one
 * of 1 / FALSE_ALARM runs at most, by the binomial distribution. */
static const double FALSE_ALARM = 1e-5;
static int most_by_chance(int trials, double share) {
    double probability = 1.0;
    int events = 0;
    for (int i = 0; i < trials; ++i)
        probability *= 1.0 - share;
    for (double rest = 1.0 - probability; rest > FALSE_ALARM && events < trials; rest -= probability) {
        probability *= share / (1.0 - share) * (trials - events) / (events + 1);
        ++events;
    }
    return events;
}

static void after_the_wait(const struct run *run) {
    struct tally tally = {.call = run->patience};
    MPI_Comm comm;
    if (!comparable(run))
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    tally.reading = reading_time();
    tally.preempted = preemptions();
    const int stops = stop_and_count(run, comm, &tally);
    tally.preempted = preemptions() - tally.preempted;
    const int victim = run->size - 1;
    const int again = ever_true(run, comm, victim);
    MPI_Comm_free(&comm);

    int spared;
    struct tally victims = tally;
    MPI_Allreduce(&tally.spared, &spared, 1, MPI_INT, MPI_SUM, run->world);
    MPI_Bcast(&victims, sizeof victims, MPI_BYTE, victim, run->world);
    note("process %d was stopped %d times, lost its processor %d times and left %d calls late, %d of them with a true "
         "flag; true flags of others in these calls: %d",
         victim, stops, victims.preempted, victims.late, victims.late_true, spared);
    /* A stop hits each part of a call in proportion to its time. The wait takes 0.6 to 0.97 of a call where each
     * process decides alone, 0.01 to 0.12 with an exchange after the deadline. By the binomial distribution fewer than
     * a fifth of 100 stops hit a part of 0.45 with probability 5e-8, and a fifth of MOST a part of 0.12 with 5e-5. */
    expect(
        stops < FEWEST || crowded(run) || 5 * victims.late >= stops,
        "the others left without process %d in only %d calls, though it was stopped %d times: is something exchanged "
        "after the deadline?",
        victim, victims.late, stops);
    if (victims.late < FEWEST / 2) {
        skip("the calls take too long: too few were left late");
        return;
    }
    /* No flag can show a stop between the last reading of the clock in the call and our timestamp: during the rest of a
     * reading, the return and our reading. That takes 1.4 to 2.3 readings of now() (measured, in calls of 0.45 us and
     * of 30 us); WAY_OUT are allowed, so chance exceeds the limit less often than FALSE_ALARM. A tenth of the stops is
     * always allowed: where processes share processors, the kernel prefers some moments. A flag that is decided before
     * the wait, or is of another call, is true in 0.9 of the late calls or more. */
    const int interruptions = victims.late > stops ? victims.late : stops;
    const double share = WAY_OUT * victims.reading / victims.call;
    const int least = 2 + stops / 10;
    int most = share < 0.5 ? most_by_chance(interruptions, share) : interruptions;
    most = most < least ? least : most;
    note("a call takes %.3g us, a reading of the clock %.3g us: up to %d true flags in late calls are left to chance",
         1e6 * victims.call, 1e6 * victims.reading, most);
    expect(
        victims.late_true <= most,
        "in %d of the %d calls that it left more than %.3g ms late, the flag of process %d was true: it is not decided "
        "after the wait",
        victims.late_true, victims.late, 1e3 * LATE, victim);
    expect(spared > 0, "whenever one process was late, all flags were false: the flag is not local");
    /* A process that loses its processor is late before the wait, most often, where a flag that is decided too early is
     * false, too. It loses it twice per stop on a quiet machine (to the process that stops it), 2.7 times with a load
     * of 4 on two processors, and 5 times where two processes share a processor. */
    if (2 * victims.preempted > 7 * stops) {
        skip("inconclusive: the machine is busy, processes wait for processors");
        return;
    }
    if (4 * most > 3 * victims.late) {
        skip("inconclusive: the calls are too short for the clock that times them");
        return;
    }
    expect(again, "after process %d was stopped, its flag was never true again in %d calls, nor in %.2g s", victim,
           AGAIN, SETTLED);
}

const struct check checks_of_flags[] = {
    {"sometimes_true", "flags are true in undisturbed calls", sometimes_true},
    {"after_the_wait", "the flag is written, local, of this call, and decided after the wait", after_the_wait},
    {0},
};
