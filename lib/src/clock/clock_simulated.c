/* The simulated time of SimGrid, for builds with DB_SIMULATED: it stands still while a process computes, and advances
 * while all processes wait. */
#include "clock/clock.h"
#include "split_mix.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Pseudorandom number in [0, 1). It depends only on seed, process and deadline, so that runs are reproducible. */
static double pseudorandom(uint64_t seed, int64_t ticks) {
    uint64_t state = seed + (uint64_t)ticks * GOLDEN_GAMMA + (uint64_t)sg_actor_self_get_pid() * 0xd1342543de82ef95u;
    return (double)(db_mix(state) >> 11) * 0x1p-53;
}

/* Shorter waits are never delayed by wake_late, because a clock that wraps this one waits again after rounding. Chosen
 * by hand: far above a rounding error and far below a slack, so half or twice the value makes no difference. */
#define MIN_WAIT_NS 50

/* Delays some waits, as if the kernel had preempted the process. The host's property `late_share` is the share of
 * delayed waits, `late` is the delay in seconds. */
static void wake_late(int64_t ticks) {
    const_sg_host_t host = sg_host_self();
    const char *share = sg_host_get_property_value(host, "late_share");
    if (!share)
        return;
    uint64_t seed = (uint64_t)strtod(sg_host_get_property_value(host, "seed"), NULL);
    if (pseudorandom(seed, ticks) < strtod(share, NULL))
        sg_actor_sleep_for(strtod(sg_host_get_property_value(host, "late"), NULL));
}

/* Opens the clock. The host of the simulation is its identity. */
static int simulated_open(struct db_clock *clock) {
    clock->simulated = 1;
    snprintf(clock->identity, sizeof clock->identity, "simulated@%.100s", sg_host_get_name(sg_host_self()));
    return 0;
}

static int64_t simulated_read(const struct db_clock *clock) {
    (void)clock;
    return llrint(simgrid_get_clock() * 1e9);
}

static int64_t simulated_wait_until(const struct db_clock *clock, int64_t ticks) {
    int64_t wait_ns = ticks - simulated_read(clock);
    while (simulated_read(clock) < ticks)
        sg_actor_sleep_until((double)ticks * 1e-9);
    if (wait_ns > MIN_WAIT_NS)
        wake_late(ticks);
    return simulated_read(clock);
}

const struct db_clock_type db_clock_simulated = {
    .component = {DB_DESCRIBED("simulated", "simulated time; the processes of a simulated host share it", "",
                               DB_NO_PARAMETERS)},
    .open = simulated_open,
    .read = simulated_read,
    .global = 1,
    .wait_until = simulated_wait_until};
