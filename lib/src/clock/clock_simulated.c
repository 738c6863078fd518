/* Simulated time, of SimGrid: it stands still while a process works, and moves on while all of them wait. */
#include "base/split_mix.h"
#include "clock/clock.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A number from 0 to 1 that follows from the process and the deadline alone, so that it is the same each time. */
static double drawn(uint64_t seed, int64_t ticks) {
    uint64_t z = seed + (uint64_t)ticks * 0x9e3779b97f4a7c15u + (uint64_t)sg_actor_self_get_pid() * 0xd1342543de82ef95u;
    return (double)(db_mix(z) >> 11) * 0x1p-53;
}

/* A clock built on this one waits again for what it rounded off; that does not count as a wait. Choice: far above a
 * rounding, far below a slack; half and twice do the same. */
#define LEAST_NS 50

/* Some waits end late, as if the kernel had preempted the process; the host's properties say how many, and by how much.
 */
static void wake_late(int64_t ticks) {
    const_sg_host_t host = sg_host_self();
    const char *share = sg_host_get_property_value(host, "late_share");
    if (!share)
        return;
    uint64_t seed = (uint64_t)strtod(sg_host_get_property_value(host, "seed"), NULL);
    if (drawn(seed, ticks) < strtod(share, NULL))
        sg_actor_sleep_for(strtod(sg_host_get_property_value(host, "late"), NULL));
}

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
    int64_t left = ticks - simulated_read(clock);
    while (simulated_read(clock) < ticks)
        sg_actor_sleep_until((double)ticks * 1e-9);
    if (left > LEAST_NS)
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
