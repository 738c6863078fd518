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

/* How many of some calls have a true flag here. */
enum { AGAIN = 200 };
static int trues(MPI_Comm comm, int calls) {
    int count = 0;
    for (int i = 0; i < calls; ++i) {
        int flag = UNWRITTEN;
        OK(HARMONIZE(comm, &flag));
        count += is_true(flag);
    }
    return count;
}

/* Some flag must be true. */
static void sometimes_true(const struct run *run) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int count = trues(comm, AGAIN);
    MPI_Comm_free(&comm);
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_MAX, run->world);
    expect(count > 0, "no process had a true flag in any of %d calls", AGAIN);
}

/* This process's calls while one process was stopped again and again. */
struct tally {
    int late;      /* calls that this process left long after the first of its node */
    int late_true; /* with a true flag all the same */
    int spared;    /* calls in which another process was late, and this one was not and has a true flag */
    int preempted; /* how often it lost its processor meanwhile */
};

static const double STOPPED = 4e-3; /* seconds */
static const double LATE = 2e-3;    /* half of that: longer is a stop, not noise */
static const double BLOCK = 8e-3;   /* calls between two checks of the helper take about this long */
static const int FEWEST = 30;       /* stops, and late exits */
static const int MOST = 150;        /* stops */
enum { LONGEST_BLOCK = 2000 };

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

/* Calls back to back, during which the last process is stopped at random moments. A stop between the message that says
 * "I have come" and the deadline makes it leave long after the others. A stop before that message keeps all others,
 * too, and one after the flag was decided is nobody's fault: both are rare, and shares are judged, not single calls. */
static int stop_and_count(const struct run *run, MPI_Comm comm, struct tally *tally) {
    static double left[LONGEST_BLOCK];
    static int flags[LONGEST_BLOCK];
    const int victim = run->size - 1;
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
            for (int i = 0; i < calls; ++i)
                flags[i] = is_true(flags[i]);
            count(run, calls, left, flags, tally);
            idle = run->rank == victim && stopper_idle();
            MPI_Bcast(&idle, 1, MPI_INT, victim, run->world);
            calls = calls_per_block(run, now() - block_begin, calls);
        }
        go_on = (stops < FEWEST || tally->late < FEWEST) && stops < MOST && now() - begin < run->patience;
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

/* With more processes than processors, a process without one comes late, and all others wait for it. */
static int crowded(const struct run *run) { return run->node_size > sysconf(_SC_NPROCESSORS_ONLN); }

/* How often this process has lost its processor to another one; stops are not among these. */
static int preemptions(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int)usage.ru_nivcsw : 0;
}

static void after_the_wait(const struct run *run) {
    struct tally tally = {0};
    MPI_Comm comm;
    if (!comparable(run))
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    tally.preempted = preemptions();
    const int stops = stop_and_count(run, comm, &tally);
    tally.preempted = preemptions() - tally.preempted;
    int again = trues(comm, AGAIN);
    MPI_Comm_free(&comm);

    const int victim = run->size - 1;
    int spared;
    MPI_Bcast(&again, 1, MPI_INT, victim, run->world);
    struct tally victims = tally;
    MPI_Allreduce(&tally.spared, &spared, 1, MPI_INT, MPI_SUM, run->world);
    MPI_Bcast(&victims, sizeof victims, MPI_BYTE, victim, run->world);
    note("process %d was stopped %d times, lost its processor %d times and left %d calls late, %d of them with a true "
         "flag; true flags of others in these calls: %d",
         victim, stops, victims.preempted, victims.late, victims.late_true, spared);
    /* The share of stops that fall between message and deadline is that of the wait in a call: 0.45 to 0.97 where each
     * decides alone, 0.01 to 0.12 with an exchange after the deadline. A fifth is 5 standard deviations from 0.35 and
     * from 0.08. */
    expect(
        stops < FEWEST || crowded(run) || 5 * victims.late >= stops,
        "the others left without process %d in only %d calls, though it was stopped %d times: is something exchanged "
        "after the deadline?",
        victim, victims.late, stops);
    if (victims.late < FEWEST / 2) {
        skip("the calls take too long: too few were left late");
        return;
    }
    /* A stop between the decision and our timestamp is rare. */
    expect(
        victims.late_true <= 2 + stops / 10,
        "in %d of the %d calls that it left more than %.3g ms late, the flag of process %d was true: it is not decided "
        "after the wait",
        victims.late_true, victims.late, 1e3 * LATE, victim);
    expect(spared > 0, "whenever one process was late, all flags were false: the flag is not local");
    /* A process that loses its processor is late before the wait, most often, where a flag that is decided too early is
     * false, too. That happens 5 times per late call where two processes share a processor, and twice with a load of 5
     * on two processors. */
    if (victims.preempted > 3 * victims.late) {
        skip("inconclusive: the machine is busy, processes wait for processors");
        return;
    }
    expect(again > 0, "after process %d was stopped, its flag was never true again in %d calls", victim, AGAIN);
}

const struct check checks_of_flags[] = {
    {"sometimes_true", "flags are true in undisturbed calls", sometimes_true},
    {"after_the_wait", "the flag is written, local, of this call, and decided after the wait", after_the_wait},
    {0},
};
