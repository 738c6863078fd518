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

/* As often as a reference with few to serve has time for: the interval that all exchanges allow narrows with each. */
#define MOST_REPETITIONS 16

static int repetitions_for(const struct db_node *self, const struct db_sync_group *group) {
    int served = db_tree_radix(group, db_whole(self, RADIX)) - 1;
    int affordable = 2 * MOST_REPETITIONS / served;
    return affordable < 1 ? 1 : affordable > MOST_REPETITIONS ? MOST_REPETITIONS : affordable;
}

/* What two offsets, measured one after the other on a timeline without drift, allow together. */
static struct db_offset both(const struct db_offset *first, const struct db_offset *second) {
    struct db_offset offset = *second;
    offset.lower_ns = fmax(first->lower_ns, second->lower_ns);
    offset.upper_ns = fmin(first->upper_ns, second->upper_ns);
    offset.offset_ns = (offset.lower_ns + offset.upper_ns) / 2.0;
    offset.duration_ns = (double)(second->at - first->at) + first->duration_ns;
    offset.exchanges = first->exchanges + second->exchanges;
    return offset;
}

static int measure(const struct db_node *self, const struct db_sync_group *group, const struct db_asker *asker,
                   struct db_offset *offset) {
    const struct db_node *estimator = db_child(self, OFFSET);
    int repetitions = db_is(estimator, &db_offset_skampi) ? repetitions_for(self, group) : 1;
    DB_TRY(db_offset_measure(estimator, asker, &group->pairs[0], offset));
    for (int i = 1; i < repetitions; ++i) {
        struct db_offset next;
        DB_TRY(db_offset_measure(estimator, asker, &group->pairs[0], &next));
        *offset = both(offset, &next);
    }
    return MPI_SUCCESS;
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
    DB_TRY(measure(self, group, &asker, &offset));
    DB_TRY(db_exchange_stop(&asker, &standing));
    offset = against_local(group, &predicted, &offset);
    db_history_add(history, &offset, &group->limits);
    return MPI_SUCCESS;
}

/* A round. */
struct round {
    const struct db_node *self;
    const struct db_sync_group *group;
    struct db_clock_map *map;
    int last; /* the global clock comes with it */
};

static int learn(int reference, void *argument) {
    const struct round *round = argument;
    const struct db_sync_group *group = round->group;
    struct db_history *history = group->histories;
    DB_TRY(compare(round->self, group, reference, history));
    if (!round->last)
        return MPI_SUCCESS;
    struct db_clock_map theirs;
    DB_TRY(db_sync_receive_map(group, reference, &theirs));
    struct db_clock_map model = db_discipline(history, &group->limits, group->clock->resolution_ns);
    model.bound_ns += group->clock->resolution_ns + DB_ROUNDING_NS;
    model = db_map_compose(&model, &theirs);
    db_sync_adopt(group, &model, round->map);
    return MPI_SUCCESS;
}

static int teach(int learner, void *argument) {
    const struct round *round = argument;
    DB_TRY(db_sync_teach(round->group, learner, &round->group->local));
    if (!round->last)
        return MPI_SUCCESS;
    const struct db_clock_map mine = db_sync_from_local(round->group, round->map);
    return db_sync_send_map(round->group, learner, &mine);
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
        struct round round = {.self = self, .group = &lasting, .map = map, .last = i == rounds - 1};
        DB_TRY(db_tree_wide(group, db_whole(self, RADIX), learn, teach, &round));
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
