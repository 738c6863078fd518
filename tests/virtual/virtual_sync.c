#include "virtual_sync.h"

#include "base/registry.h"
#include "check.h"

#include <math.h>
#include <string.h>

/* Few exchanges: that bounds hold must not depend on how much was measured. In the order of the registry of offset
 * estimators. */
static const char *const parameters[] = {"(min=3,max=6)", "(stop=3)", "(rtt=5,exchanges=3)", "(exchanges=4)",
                                         "(exchanges=6)"};
#define ESTIMATORS (sizeof parameters / sizeof *parameters)

/* From here on a world is run once only, to save time. */
#define LARGE 32

#define PAIRS ((size_t)DB_LEVELS * DB_MAX_PAIRS)
/* Before the pairs of each process, and after the last, is one that no scheme may touch. */
#define STRIDE (PAIRS + 1)

static struct db_level level_of(const struct db_channel *channel, int rank, int size) {
    return (struct db_level){.channel = *channel, .rank = rank, .size = size};
}

/* The first process of each node takes part between the nodes, all take part within. */
static void divide(struct virtual_sync *sync, int node_size) {
    int nodes = (sync->size + node_size - 1) / node_size;
    int *members = virtual_allocate((size_t)sync->size, sizeof *members);
    for (int node = 0; node < nodes; ++node)
        members[node] = node * node_size;
    struct db_channel leaders = virtual_channel(sync->world, members, nodes);
    for (int node = 0; node < nodes; ++node) {
        int first = node * node_size;
        int present = first + node_size <= sync->size ? node_size : sync->size - first;
        for (int i = 0; i < present; ++i)
            members[i] = first + i;
        struct db_channel within = virtual_channel(sync->world, members, present);
        sync->levels[first].level[DB_NODES] = level_of(&leaders, node, nodes);
        for (int i = 0; i < present; ++i)
            sync->levels[first + i].level[DB_WITHIN] = level_of(&within, i, present);
    }
    free(members);
}

struct virtual_sync virtual_sync_create(const struct virtual_model *model, int size, int node_size,
                                        const char *scheme) {
    char message[DOWNBEAT_MAX_MESSAGE];
    double range = model->skew + model->wander + model->calibration;
    struct virtual_sync sync = {.world = virtual_create(model, size),
                                .size = size,
                                /* Two clocks, each of which may be at either end of its range, seen from either; a
                                 * difference between wanders changes from one end of its range to the other. */
                                .limits = {.skew = 2.0 * range / (1.0 - range),
                                           .wander = 4.0 * model->wander,
                                           .ramp = 2.0 * model->ramp * 1e-9},
                                .stagger_ns = 1e6,
                                .levels = virtual_allocate((size_t)size, sizeof *sync.levels),
                                .maps = virtual_allocate((size_t)size, sizeof *sync.maps),
                                .pairs = virtual_allocate((size_t)size * STRIDE + 1, sizeof *sync.pairs),
                                .histories = virtual_allocate((size_t)size * DB_LEVELS, sizeof *sync.histories)};
    if (db_scheme_parse(&sync.scheme, "scheme", scheme, message) != 0) {
        fprintf(stderr, "%s\n", message);
        check_fail();
    }
    sync.channel = virtual_channel(sync.world, NULL, size);
    divide(&sync, node_size);
    return sync;
}

void virtual_sync_free(struct virtual_sync *sync) {
    free(sync->histories);
    free(sync->pairs);
    free(sync->maps);
    free(sync->levels);
    virtual_free(sync->world);
}

/* Nobody begins when another does, so that local times differ. */
static void come_late(const struct virtual_sync *sync, int process) {
    const struct db_clock *clock = virtual_clock();
    double late_ns = sync->stagger_ns * (process * 37 % 101) / 101.0;
    clock->type->wait_until(clock, db_clock_read(clock) + llrint(late_ns / clock->ns_per_tick));
}

static void synchronize(int process, void *argument) {
    struct virtual_sync *sync = argument;
    come_late(sync, process);
    struct db_clock_map *map = &sync->maps[process];
    double contradicted = 0.0;
    struct db_sync_group group = {.channel = sync->channel,
                                  .rank = process,
                                  .size = sync->size,
                                  .clock = virtual_clock(),
                                  .limits = sync->limits,
                                  .lasting_limits = sync->limits,
                                  .depth = 2,
                                  .histories = &sync->histories[(size_t)process * DB_LEVELS],
                                  .pairs = &sync->pairs[(size_t)process * STRIDE + 1],
                                  .contradicted = &contradicted,
                                  .levels = &sync->levels[process]};
    group.local = (struct db_clock_map){.ticks = db_clock_read(group.clock), .ns_per_tick = group.clock->ns_per_tick};
    group.lasting = group.local;
    group.lasting.ticks = virtual_ticks(sync->world, process, 0.0);
    if (process > 0)
        *map = (struct db_clock_map){.version = map->version, .ns_per_tick = NAN, .bound_ns = NAN, .growth = NAN};
    else if (map->ns_per_tick == 0.0)
        *map = group.local;

    struct db_clock_map before = *map;
    CHECK(db_sync_run(sync->scheme.nodes, &group, map) == MPI_SUCCESS);
    CHECK(contradicted == 0.0);
    static const struct db_pair untouched;
    CHECK(memcmp(&sync->pairs[(size_t)process * STRIDE], &untouched, sizeof untouched) == 0);
    CHECK(memcmp(&sync->pairs[(size_t)(process + 1) * STRIDE], &untouched, sizeof untouched) == 0);
    if (process == 0)
        CHECK(memcmp(map, &before, sizeof before) == 0);
    else
        CHECK(map->ns_per_tick > 0.0 && map->bound_ns > 0.0 && map->growth >= 0.0);
}

void virtual_sync_run(struct virtual_sync *sync) {
    sync->begun_ns = virtual_now(sync->world);
    virtual_pass_until(sync->world, sync->begun_ns);
    virtual_run(sync->world, synchronize, sync);
}

void virtual_sync_inherit(struct virtual_sync *sync, const struct virtual_sync *other) {
    CHECK_THAT(sync->size, ==, other->size);
    memcpy(sync->pairs, other->pairs, ((size_t)sync->size * STRIDE + 1) * sizeof *sync->pairs);
    memcpy(sync->histories, other->histories, (size_t)sync->size * DB_LEVELS * sizeof *sync->histories);
}

double virtual_sync_error_ns(const struct virtual_sync *sync, int process, double true_ns) {
    return virtual_global_ns(sync->world, process, &sync->maps[process], true_ns) -
           virtual_global_ns(sync->world, 0, &sync->maps[0], true_ns);
}

double virtual_sync_bound_ns(const struct virtual_sync *sync, int process, double true_ns) {
    return db_map_bound_ns(&sync->maps[process], virtual_ticks(sync->world, process, true_ns));
}

double virtual_sync_check_bounds(const struct virtual_sync *sync, const char *scheme, double after_ns) {
    double then_ns = virtual_now(sync->world) + after_ns;
    double largest = 0.0;
    for (int i = 1; i < sync->size; ++i) {
        double error_ns = virtual_sync_error_ns(sync, i, then_ns);
        double bound_ns = virtual_sync_bound_ns(sync, i, then_ns);
        if (!(fabs(error_ns) <= bound_ns)) {
            fprintf(stderr, "%s, %d processes, process %d, %g s later: error %.1f ns, bound %.1f ns\n", scheme,
                    sync->size, i, after_ns * 1e-9, error_ns, bound_ns);
            check_fail();
        }
        largest = fmax(largest, fabs(error_ns) / bound_ns);
    }
    return largest;
}

double virtual_sync_check(const struct virtual_model *model, int size, int node_size, const char *scheme) {
    const double after_ns[] = {0.0, 1e9, 10e9};
    struct virtual_sync sync = virtual_sync_create(model, size, node_size, scheme);
    double largest = 0.0;
    for (int i = 0; i < (size < LARGE ? 2 : 1); ++i) {
        virtual_sync_run(&sync);
        for (size_t k = 0; k < sizeof after_ns / sizeof *after_ns; ++k)
            largest = fmax(largest, virtual_sync_check_bounds(&sync, scheme, after_ns[k]));
    }
    virtual_sync_free(&sync);
    return largest;
}

static int fits_drift(const Downbeat_component *scheme) {
    for (const Downbeat_parameter *parameter = scheme->parameters; parameter->name != NULL; ++parameter)
        if (strcmp(parameter->name, "fit") == 0)
            return 1;
    return 0;
}

static const Downbeat_component *described(const void *entry) {
    return &((const struct db_component *)entry)->described;
}

double virtual_sync_check_all(const struct virtual_model *model, int size) {
    double largest = 0.0;
    for (const void *const *scheme = db_sync_types; *scheme != NULL; ++scheme)
        for (size_t i = 0; i < ESTIMATORS && !((const struct db_component *)*scheme)->outermost; ++i) {
            const char *name = described(*scheme)->name;
            const char *fit = fits_drift(described(*scheme)) ? "fit=3,over=0.02," : "";
            char text[256];
            CHECK(db_offset_types[i] != NULL); /* as many as here */
            snprintf(text, sizeof text, "%s(%soffset=%s%s)", name, fit, described(db_offset_types[i])->name,
                     parameters[i]);
            largest = fmax(largest, virtual_sync_check(model, size, size, text));
        }
    CHECK(db_offset_types[ESTIMATORS] == NULL);
    return largest;
}

struct virtual_model virtual_rough(const struct virtual_network *network, double (*path_ns)(int, int, double)) {
    struct virtual_model model = {.seed = 1,
                                  .network = *network,
                                  .offset_ns = 1e9,
                                  .skew = 9.9e-6,
                                  .wander = 0.1e-6,
                                  .calibration = 1e-6,
                                  .ns_per_tick = 0.4347,
                                  .read_ns = 20};
    model.network.path_ns = path_ns;
    return model;
}

double virtual_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, virtual_ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}
