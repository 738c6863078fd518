/* Clocks that keep what they learn. Every process has one reference, always the same, and compares its local clock with
 * the reference's at each synchronization; over time, rate and offset follow (discipline.h). The global clock comes
 * down the tree with the last message of each comparison.
 *
 * The tree is wide: each level adds half a round trip to the bound, and each process that a reference serves takes it
 * some exchanges.
 *
 * Path asymmetry moves an offset by half of the difference between the one-way delays. No exchange shows that, and it
 * adds up along the tree. So in a large group every process also has some peers in other branches, and takes the mean
 * of what its reference and its peers lead to. */
#include "sync/sync.h"

#include "base/error.h"
#include "clock/wait.h"

enum { RADIX, ROUNDS, OVER, PEERS, OFFSET };

static const Downbeat_parameter parameters[] = {
    {"radix", "0", "processes with the same reference, and it, per level; 0: as wide as 1 % of the time allows", NULL,
     0, 1e6, 1},
    {"rounds", "1", "rounds of comparisons in each synchronization", NULL, 1, 16, 1},
    {"over", "0", "seconds to spread the rounds over, at least", NULL, 0, 3600, 0},
    {"peers", "4", "other processes that each is compared with, if there are 32 or more", NULL, 0, DB_MAX_PEERS, 1},
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

/* A map from this process's clock to the reference's local time, from earlier comparisons, or else its own local time.
 * Measured on it, the clocks hardly drift during a comparison, however long that is interrupted. */
static struct db_clock_map prediction(const struct db_sync_group *group, const struct db_history *history) {
    struct db_clock_map predicted = group->local;
    double skew = db_history_limits(history, &group->limits).skew;
    predicted.growth = skew;
    predicted.uncertainty = db_uncertainty_within(0.0, skew);
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
    double since_ns = fabs(db_map_elapsed_ns(predicted, ticks));
    seen.drift_ns = (predicted->growth + predicted->ramp * since_ns) * offset->duration_ns;
    seen.drift_deviation_ns = sqrt(db_uncertainty_after(&predicted->uncertainty, since_ns).rate) * offset->duration_ns;
    return seen;
}

/* As often as a reference with few to serve has time for: the interval that all exchanges allow narrows with each. */
#define MOST_REPETITIONS 16

static int repetitions_for(const struct db_node *self, const struct db_sync_group *group) {
    int served = db_tree_radix(group, db_whole(self, RADIX)) - 1;
    int affordable = 2 * MOST_REPETITIONS / served;
    return affordable < 1 ? 1 : affordable > MOST_REPETITIONS ? MOST_REPETITIONS : affordable;
}

/* The offset that two, measured one after the other on a timeline without drift, allow together. */
static struct db_offset both(const struct db_offset *first, const struct db_offset *second) {
    struct db_offset offset = *second;
    offset.lower_ns = fmax(first->lower_ns, second->lower_ns);
    offset.upper_ns = fmin(first->upper_ns, second->upper_ns);
    offset.offset_ns = (offset.lower_ns + offset.upper_ns) / 2.0;
    offset.duration_ns = (double)(second->at - first->at) + first->duration_ns;
    offset.exchanges = first->exchanges + second->exchanges;
    return offset;
}

static int measure_repeatedly(const struct db_node *self, const struct db_sync_group *group,
                              const struct db_asker *asker, struct db_pair *pair, struct db_offset *offset) {
    const struct db_node *estimator = db_child(self, OFFSET);
    int repetitions = db_is(estimator, &db_offset_skampi) ? repetitions_for(self, group) : 1;
    DB_TRY(db_offset_measure(estimator, asker, pair, offset));
    for (int i = 1; i < repetitions; ++i) {
        struct db_offset next;
        DB_TRY(db_offset_measure(estimator, asker, pair, &next));
        *offset = both(offset, &next);
    }
    return MPI_SUCCESS;
}

/* Compares the two local clocks. */
static int compare_local(const struct db_node *self, const struct db_sync_group *group, int reference,
                         struct db_pair *pair, struct db_history *history) {
    if (history->reference != reference)
        *history = (struct db_history){.reference = reference};
    struct db_clock_map predicted = prediction(group, history);
    const struct db_asker asker = {
        .channel = &group->channel, .peer = reference, .timeline = {.clock = group->clock, .map = &predicted}};
    struct db_offset offset;
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(measure_repeatedly(self, group, &asker, pair, &offset));
    DB_TRY(db_exchange_stop(&asker, &standing));
    offset = against_local(group, &predicted, &offset);
    double contradicted = db_history_add(history, &offset, &group->limits, group->clock->resolution_ns);
    *group->contradicted = fmax(*group->contradicted, contradicted);
    return MPI_SUCCESS;
}

/* A round. */
struct round {
    const struct db_node *self;
    const struct db_sync_group *group;
    int last;                /* the global clock comes with it */
    struct db_clock_map map; /* from the reference */
    struct db_clock_map models[DB_MAX_PEERS];
    int count; /* of models, from the peers */
};

/* Compares with another process, and in the last round makes the model that leads from local time to its global clock.
 */
static int learn_from(const struct round *round, int other, struct db_pair *pair, struct db_history *history,
                      struct db_clock_map *model) {
    const struct db_sync_group *group = round->group;
    DB_TRY(compare_local(round->self, group, other, pair, history));
    if (!round->last)
        return MPI_SUCCESS;
    struct db_clock_map theirs;
    DB_TRY(db_sync_receive_map(group, other, &theirs));
    *model = db_discipline(history, &group->limits, group->clock->resolution_ns);
    model->bound_ns += group->clock->resolution_ns + DB_ROUNDING_NS;
    *model = db_map_compose(model, &theirs);
    return MPI_SUCCESS;
}

static int learn(int reference, void *argument) {
    struct round *round = argument;
    const struct db_sync_group *group = round->group;
    struct db_clock_map model;
    DB_TRY(learn_from(round, reference, &group->pairs[0], &group->histories->reference, &model));
    if (round->last)
        db_sync_adopt(group, &model, &round->map);
    return MPI_SUCCESS;
}

static int learn_from_peer(int peer, int number, void *argument) {
    struct round *round = argument;
    const struct db_sync_group *group = round->group;
    DB_TRY(learn_from(round, peer, &group->pairs[1 + number], &group->histories->peers[number],
                      &round->models[round->count]));
    round->count += round->last;
    return MPI_SUCCESS;
}

static int teach(int learner, void *argument) {
    const struct round *round = argument;
    DB_TRY(db_sync_teach(round->group, learner, &round->group->local));
    if (!round->last)
        return MPI_SUCCESS;
    const struct db_clock_map mine = db_sync_from_local(round->group, &round->map);
    return db_sync_send_map(round->group, learner, &mine);
}

/* The mean of models of one clock, at the time of the first. Each counts by the inverse of its bound: what no exchange
 * shows adds up along the path to process 0, and so does the bound. */
static struct db_clock_map mean_of(const struct db_clock_map models[], int count) {
    struct db_clock_map mean = models[0];
    double shares[1 + DB_MAX_PEERS];
    double apart_ns[1 + DB_MAX_PEERS]; /* from the first */
    double sum = 0.0;
    double mean_apart_ns = 0.0;
    for (int i = 0; i < count; ++i) {
        shares[i] = 1.0 / db_map_bound_ns(&models[i], mean.ticks);
        sum += shares[i];
    }
    mean.ns_per_tick = 0.0;
    mean.uncertainty = (struct db_uncertainty){0};
    for (int i = 0; i < count; ++i) {
        double share = shares[i] / sum;
        double elapsed_ns = db_map_elapsed_ns(&models[i], mean.ticks);
        apart_ns[i] = (double)(models[i].global_ns - mean.global_ns) + elapsed_ns;
        mean_apart_ns += share * apart_ns[i];
        mean.ns_per_tick += share * models[i].ns_per_tick;
        /* Offsets have errors of their own. Rates may be wrong for the same reason, the own oscillator, and half of
         * what wanders is it. */
        struct db_uncertainty one = db_uncertainty_after(&models[i].uncertainty, elapsed_ns);
        double half = 0.5 * (share + share * share);
        mean.uncertainty.offset += share * share * one.offset;
        mean.uncertainty.cross += 0.5 * (half + share * share) * one.cross;
        mean.uncertainty.rate += share * one.rate;
        mean.uncertainty.walk += half * one.walk;
    }
    /* The bound of each model holds, and for the mean as far as that is away from the model. */
    mean.bound_ns = INFINITY;
    for (int i = 0; i < count; ++i) {
        double bound_ns = db_map_bound_ns(&models[i], mean.ticks) + fabs(apart_ns[i] - mean_apart_ns) + DB_ROUNDING_NS;
        if (bound_ns < mean.bound_ns) {
            mean.bound_ns = bound_ns;
            mean.growth = models[i].growth + models[i].ramp * fabs(db_map_elapsed_ns(&models[i], mean.ticks)) +
                          fabs(models[i].ns_per_tick - mean.ns_per_tick);
        }
    }
    mean.global_ns += llrint(mean_apart_ns);
    return mean;
}

/* The global clock, by what the reference and the peers lead to. */
static struct db_clock_map outcome(const struct round *round) {
    struct db_clock_map models[1 + DB_MAX_PEERS] = {db_sync_from_local(round->group, &round->map)};
    for (int i = 0; i < round->count; ++i)
        models[1 + i] = round->models[i];
    struct db_clock_map model = mean_of(models, 1 + round->count);
    struct db_clock_map map = round->map;
    db_sync_adopt(round->group, &model, &map);
    return map;
}

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    const struct db_sync_group lasting = db_sync_lasting(group);
    int rounds = db_whole(self, ROUNDS);
    int radix = db_whole(self, RADIX);
    int64_t begin = db_clock_read(group->clock);
    struct round round = {.self = self, .group = &lasting, .map = *map};
    for (int i = 0; i < rounds; ++i) {
        if (i > 0 && db_number(self, OVER) > 0.0) {
            double due_ns = db_number(self, OVER) * 1e9 * i / (rounds - 1);
            db_wait_until(group->clock, begin + llrint(due_ns / group->clock->ns_per_tick),
                          db_patience_of(&group->channel));
        }
        round.last = i == rounds - 1;
        DB_TRY(db_tree_wide(group, radix, learn, teach, &round));
        DB_TRY(db_peers(group, radix, db_whole(self, PEERS), learn_from_peer, teach, &round));
    }
    *map = round.count > 0 ? outcome(&round) : round.map;
    return MPI_SUCCESS;
}

const struct db_sync_type db_sync_disciplined = {
    .component = {DB_DESCRIBED("disciplined",
                               "wide tree from process 0 down; every process keeps the offsets to its "
                               "reference, rate and offset follow from all of them",
                               "", parameters),
                  .check = check},
    .expecting = 1,
    .synchronize = synchronize};
