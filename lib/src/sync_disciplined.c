/* Clocks that keep what they learn. Every process has one reference, always the same, and compares its local clock with
 * the reference's at each synchronization; over time, rate and offset follow (discipline.h). The global clock comes
 * down the tree with the last message of each comparison.
 *
 * The tree is wide: each level adds half a round trip to the bound, and each process that a reference serves takes it
 * some exchanges. */
#include "sync.h"

#include "error.h"
#include "wait.h"

enum { RADIX, ROUNDS, OVER, OFFSET };

static const Downbeat_parameter parameters[] = {
    {"radix", "0", "processes with the same reference, and it, per level; 0: as wide as 1 % of the time allows", NULL,
     0, 1e6, 1},
    {"rounds", "1", "rounds of comparisons in each synchronization", NULL, 1, 16, 1},
    {"over", "0", "seconds to spread the rounds over, at least", NULL, 0, 3600, 0},
    {"offset", "skampi(min=6,max=40)", "estimator of the offset between two local clocks", "offset", 0, 0, 0},
    {.name = NULL},
};

static const char *check(const struct db_node *self) {
    if (db_number(self, RADIX) == 1)
        return "a tree of radix 1 has no end; use radix 0 or 2 and more";
    return db_number(self, OVER) > 0.0 && db_number(self, ROUNDS) < 2
               ? "one round cannot be spread; use rounds of 2 or more"
               : NULL;
}

/* The smallest radix that needs no more levels for so many processes. */
static int radix_for(int levels, int size) {
    int radix = (int)floor(pow(size, 1.0 / levels));
    if (radix < 2)
        return 2;
    return pow(radix, levels) >= size ? radix : radix + 1;
}

static int radix_of(const struct db_node *self, const struct db_sync_group *group) {
    int chosen = db_whole(self, RADIX);
    return chosen > 0 ? chosen : radix_for(group->depth, group->size);
}

/* What the process knows already, as a map from its clock to the reference's local time; its own local time if that is
 * nothing. Measured on it, the clocks hardly drift while they are compared, however long that is interrupted. */
static struct db_clock_map prediction(const struct db_sync_group *group, const struct db_history *history) {
    struct db_clock_map predicted = group->local;
    if (history->count > 0) {
        struct db_clock_map model = db_discipline(history, &group->limits, group->clock->resolution_ns);
        db_sync_adopt(group, &model, &predicted);
    }
    return predicted;
}

/* An offset against the prediction, as an offset against local time. */
static struct db_offset against_local(const struct db_sync_group *group, const struct db_clock_map *predicted,
                                      const struct db_offset *offset) {
    struct db_offset seen = *offset;
    int64_t ticks = db_map_ticks(predicted, offset->at);
    double local = db_map_elapsed_ns(&group->local, ticks);
    double shift = (double)predicted->global_ns - local + db_map_elapsed_ns(predicted, ticks);
    seen.at = llrint(local);
    seen.offset_ns += shift;
    seen.lower_ns += shift;
    seen.upper_ns += shift;
    return seen;
}

static int compare(const struct db_node *self, const struct db_sync_group *group, int reference,
                   struct db_history *history) {
    if (history->reference != reference)
        *history = (struct db_history){.reference = reference};
    struct db_clock_map predicted = prediction(group, history);
    const struct db_asker asker = {
        .channel = &group->channel, .peer = reference, .timeline = {.clock = group->clock, .map = &predicted}};
    struct db_offset offset;
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(db_offset_measure(db_child(self, OFFSET), &asker, &group->pairs[0], &offset));
    DB_TRY(db_exchange_stop(&asker, &standing));
    offset = against_local(group, &predicted, &offset);
    db_history_add(history, &offset, &group->limits);
    return MPI_SUCCESS;
}

#define MAP_WORDS ((int)(sizeof(struct db_clock_map) / sizeof(int64_t)))

/* The process's part in one round. In the last one, the global clock comes with it. */
static int round_of(const struct db_node *self, const struct db_sync_group *group, struct db_history *history,
                    struct db_clock_map *map, int last) {
    const struct db_channel *channel = &group->channel;
    int radix = radix_of(self, group);
    int64_t step = 1;
    while (step * radix < group->size)
        step *= radix;
    for (; step >= 1; step /= radix) {
        int place = (int)(group->rank % (step * radix));
        if (place % step != 0)
            continue;
        int reference = group->rank - place;
        if (place > 0) {
            DB_TRY(compare(self, group, reference, history));
            if (!last)
                continue;
            struct db_clock_map theirs;
            DB_TRY(db_receive(channel, (int64_t *)&theirs, MAP_WORDS, reference));
            struct db_clock_map model = db_discipline(history, &group->limits, group->clock->resolution_ns);
            model.bound_ns += group->clock->resolution_ns + DB_ROUNDING_NS;
            model = db_map_compose(&model, &theirs);
            db_sync_adopt(group, &model, map);
            continue;
        }
        const struct db_clock_map mine = db_sync_from_local(group, map);
        for (int i = 1; i < radix && group->rank + i * step < group->size; ++i) {
            int learner = (int)(group->rank + i * step);
            DB_TRY(db_sync_teach(group, learner, &group->local));
            if (last)
                DB_TRY(db_send(channel, (const int64_t *)&mine, MAP_WORDS, learner));
        }
    }
    return MPI_SUCCESS;
}

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    const struct db_sync_group lasting = db_sync_lasting(group);
    int rounds = db_whole(self, ROUNDS);
    int64_t begin = db_clock_read(group->clock);
    for (int i = 0; i < rounds; ++i) {
        if (i > 0 && db_number(self, OVER) > 0.0) {
            double due_ns = db_number(self, OVER) * 1e9 * i / (rounds - 1);
            db_wait_until(group->clock, begin + llrint(due_ns / group->clock->ns_per_tick), group->channel.patient);
        }
        DB_TRY(round_of(self, &lasting, group->histories, map, i == rounds - 1));
    }
    return MPI_SUCCESS;
}

const struct db_sync_type db_sync_disciplined = {
    .component = {.described = {.name = "disciplined",
                                .summary = "wide tree from process 0 down; every process keeps the offsets to its "
                                           "reference, rate and offset follow from all of them",
                                .source = "",
                                .parameters = parameters},
                  .check = check},
    .expecting = 1,
    .synchronize = synchronize};
