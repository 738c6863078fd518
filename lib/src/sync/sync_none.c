/* The scheme none: clocks that are global by hardware (PTP, White Rabbit, an MPI_Wtime that the user trusts). They are
 * compared, not corrected: every process compares its clock with its reference's clock, and it is an error if the
 * exchanges prove that the offset is not 0. */
#include "sync/sync.h"

#include "base/error.h"

static const Downbeat_parameter parameters[] = {DB_OFFSET_PARAMETER("skampi"), {.name = NULL}};

/* Argument of learn and teach. */
struct comparison {
    const struct db_node *estimator;
    const struct db_sync_group *group;
    struct db_clock_map absolute; /* from the clock's readings to absolute time, ns */
    struct db_clock_map *map;     /* the result: from readings to the global clock */
    int code;                     /* MPI_SUCCESS, or the error of clocks that differ */
};

/* Returns the map from absolute time to the global clock. */
static struct db_clock_map map_from_absolute(const struct comparison *comparison) {
    struct db_clock_map from_absolute = *comparison->map;
    from_absolute.ticks = db_map_global_ns(&comparison->absolute, from_absolute.ticks);
    return from_absolute;
}

/* Compares this process's clock with its reference's, and takes over the reference's map. */
static int learn(int reference, void *argument) {
    struct comparison *comparison = argument;
    const struct db_sync_group *group = comparison->group;
    const struct db_asker asker = {.channel = &group->channel,
                                   .peer = reference,
                                   .timeline = {.clock = group->clock, .map = &comparison->absolute}};
    struct db_offset offset;
    struct db_timeline_error error;
    struct db_clock_map reference_map;
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(db_offset_measure(comparison->estimator, &asker, &group->pairs[0], &offset));
    DB_TRY(db_exchange_stop(&asker, &error));
    DB_TRY(db_sync_receive_map(group, reference, &reference_map));

    double margin_ns = group->clock->resolution_ns + DB_ROUNDING_NS;
    if (offset.lower_ns > margin_ns || offset.upper_ns < -margin_ns)
        comparison->code =
            db_explain(group->reason, MPI_ERR_OTHER,
                       "sync=none: the clock of process %d of %d differs from that of process %d by %.3g to "
                       "%.3g us; sync=none needs a clock that is the same on all nodes; choose another sync",
                       group->rank, group->size, reference, -offset.upper_ns * 1e-3, -offset.lower_ns * 1e-3);
    int64_t ticks = db_clock_read(group->clock);
    double bound_ns = fmax(fabs(offset.lower_ns), fabs(offset.upper_ns)) + margin_ns + reference_map.bound_ns;
    *comparison->map = (struct db_clock_map){
        .version = comparison->map->version,
        .ticks = ticks,
        .global_ns = reference_map.global_ns + (db_map_global_ns(&comparison->absolute, ticks) - reference_map.ticks),
        .ns_per_tick = 1.0,
        .bound_ns = bound_ns,
        .uncertainty = db_uncertainty_within(bound_ns, 0.0)};
    return MPI_SUCCESS;
}

/* Answers a learner, and sends it the map from absolute time to the global clock. */
static int teach(int learner, void *argument) {
    const struct comparison *comparison = argument;
    const struct db_clock_map map = map_from_absolute(comparison);
    DB_TRY(db_sync_teach(comparison->group, learner, &comparison->absolute));
    return db_sync_send_map(comparison->group, learner, &map);
}

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    if (!group->clock->absolute)
        return db_explain(group->reason, MPI_ERR_OTHER,
                          "sync=none needs a clock that can be the same on all nodes; choose clock realtime or wtime");
    struct comparison comparison = {.estimator = db_child(self, 0),
                                    .group = group,
                                    .absolute = {.global_ns = group->clock->absolute_ns, .ns_per_tick = 1.0},
                                    .map = map};
    DB_TRY(db_tree_wide(group, 0, learn, teach, &comparison));
    return comparison.code;
}

const struct db_sync_type db_sync_none = {
    .component = {DB_DESCRIBED("none", "clocks that are global by hardware: compared, never corrected", "", parameters),
                  .outermost = 1},
    .refusing = 1,
    .synchronize = synchronize};
