/* Simulated time, of SimGrid: it stands still while a process works, and moves on while all of them wait. */
#include "clock.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdio.h>

static int simulated_open(struct db_clock *clock) {
    snprintf(clock->identity, sizeof clock->identity, "simulated@%.100s", sg_host_get_name(sg_host_self()));
    return 0;
}

static int64_t simulated_read(const struct db_clock *clock) {
    (void)clock;
    return llrint(simgrid_get_clock() * 1e9);
}

static int64_t simulated_wait_until(const struct db_clock *clock, int64_t ticks) {
    int64_t reading;
    while ((reading = simulated_read(clock)) < ticks)
        sg_actor_sleep_until((double)ticks * 1e-9);
    return reading;
}

const struct db_clock_type db_clock_simulated = {
    .component = {.described = {.name = "simulated",
                                .summary = "simulated time; the processes of a simulated host share it",
                                .source = "",
                                .parameters = DB_NO_PARAMETERS}},
    .open = simulated_open,
    .read = simulated_read,
    .global = 1,
    .wait_until = simulated_wait_until};
