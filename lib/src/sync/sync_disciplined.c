/* Clocks that keep what they learn. Every process has one reference, always the same, and compares its local clock with
 * the reference's at each synchronization; over time, rate and offset follow (discipline.h). The global clock comes
 * down the tree with the last message of each comparison.
 *
 * The tree is wide: each level adds half a round trip to the bound, and each process that a reference serves takes it
 * some exchanges.
 *
 * Path asymmetry moves an offset by half of the difference between the one-way delays. No exchange shows that, and it
 * adds up along the tree. So in a large group every process is also compared with many others, its partners, and takes
 * the mean of what they lead to, some times: least squares over all comparisons. By how much these scatter around it is
 * part of the error to be expected. */
#include "sync/sync.h"

#include "base/error.h"
#include "clock/wait.h"
#include "sync/consensus.h"

#include <stdlib.h>

enum { RADIX, ROUNDS, OVER, PARTNERS, OFFSET };

static const Downbeat_parameter parameters[] = {
    {"radix", "0", "processes with the same reference, and it, per level; 0: as wide as 1 % of the time allows", NULL,
     0, 1e6, 1},
    {"rounds", "1", "rounds of comparisons in each synchronization", NULL, 1, 16, 1},
    {"over", "0", "seconds to spread the rounds over, at least", NULL, 0, 3600, 0},
    {"partners", "24", "other processes that each is compared with, if there are 32 or more", NULL, 0, DB_MAX_PARTNERS,
     1},
    {"offset", "skampi(min=4,max=40)", "estimator of the offset between two local clocks", "offset", 0, 0, 0},
    {.name = NULL},
};

static const char *check(const struct db_node *self) {
    int partners = db_whole(self, PARTNERS);
    if (db_number(self, RADIX) == 1)
        return "a tree of radix 1 has no end; use radix 0 or 2 and more";
    if (partners % 2 == 1 || partners == 2)
        return "partners come in pairs, and two show no scatter; use partners=0, or an even number from 4";
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
        struct db_clock_map model = db_discipline(history, &group->limits, group->clock->resolution_ns, NULL);
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

/* As often as a reference with few to serve has time for: the interval that all exchanges allow narrows with each.
 * Choice; */
#define MOST_REPETITIONS 24
/* On a slow network, more synchronizations say more than more repetitions: they also show what the clocks do. So
 * they take no longer than this with all that a reference serves, or this part of the time since the last one.
 * Choice: less than the 1 % of all time that schedule.c allows; */
#define LONGEST_NS 5e6
#define LONGEST_SHARE 0.008

static int served_by_one(const struct db_node *self, const struct db_sync_group *group) {
    return db_tree_radix(group, db_whole(self, RADIX)) - 1;
}

static int repetitions_for(const struct db_node *self, const struct db_sync_group *group) {
    int affordable = 2 * MOST_REPETITIONS / served_by_one(self, group);
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
                              const struct db_asker *asker, struct db_pair *pair, double since_ns,
                              struct db_offset *offset) {
    const struct db_node *estimator = db_child(self, OFFSET);
    int repetitions = db_is(estimator, &db_offset_skampi) ? repetitions_for(self, group) : 1;
    double longest_ns = fmax(LONGEST_NS, LONGEST_SHARE * since_ns) / served_by_one(self, group);
    int64_t begin = db_clock_read(group->clock);
    DB_TRY(db_offset_measure(estimator, asker, pair, offset));
    for (int i = 1; i < repetitions; ++i) {
        if ((double)(db_clock_read(group->clock) - begin) * group->clock->ns_per_tick > longest_ns)
            break;
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
    history->among_many = history != &group->histories->reference;
    struct db_clock_map predicted = prediction(group, history);
    double now_ns = db_map_elapsed_ns(&group->local, db_clock_read(group->clock));
    double since_ns = history->count > 0 ? now_ns - (double)history->points[history->count - 1].at : 0.0;
    const struct db_asker asker = {
        .channel = &group->channel, .peer = reference, .timeline = {.clock = group->clock, .map = &predicted}};
    struct db_offset offset;
    struct db_standing standing;
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(measure_repeatedly(self, group, &asker, pair, since_ns, &offset));
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
};

/* From local time to the other's, after another comparison. */
static int compare(const struct round *round, int other, struct db_pair *pair, struct db_history *history,
                   struct db_clock_map *model, struct db_uncertainty *noise) {
    const struct db_sync_group *group = round->group;
    DB_TRY(compare_local(round->self, group, other, pair, history));
    *model = db_discipline(history, &group->limits, group->clock->resolution_ns, noise);
    model->bound_ns += group->clock->resolution_ns + DB_ROUNDING_NS;
    return MPI_SUCCESS;
}

static int learn(int reference, void *argument) {
    struct round *round = argument;
    const struct db_sync_group *group = round->group;
    struct db_clock_map model;
    DB_TRY(compare(round, reference, &group->pairs[0], &group->histories->reference, &model, NULL));
    if (!round->last)
        return MPI_SUCCESS;
    struct db_clock_map theirs;
    DB_TRY(db_sync_receive_map(group, reference, &theirs));
    model = db_map_compose(&model, &theirs);
    db_sync_adopt(group, &model, &round->map);
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

/* The state of a process that learns of the global clock with its partners. */
struct consultation {
    const struct round *round;
    struct db_clock_map models[DB_MAX_PARTNERS / 2]; /* from local time to that of the partners that it asks */
    struct db_uncertainty noises[DB_MAX_PARTNERS / 2];
    int count;                                       /* of partners, so far */
    struct db_opinion opinions[1 + DB_MAX_PARTNERS]; /* the own and theirs */
    struct db_opinion told[DB_MAX_PARTNERS];         /* the own, as they hear it */
    MPI_Request sending[DB_MAX_PARTNERS];
};

/* Compares the two local clocks: one of the two does, and its model serves both. */
static int compare_with_partner(int partner, int number, int asks, void *argument) {
    struct consultation *consultation = argument;
    const struct db_sync_group *group = consultation->round->group;
    return asks ? compare(consultation->round, partner, &group->pairs[1 + number], &group->histories->partners[number],
                          &consultation->models[number], &consultation->noises[number])
                : db_sync_teach(group, partner, &group->local);
}

#define OPINION_WORDS ((int)(sizeof(struct db_opinion) / sizeof(int64_t)))

/* Uncertainty is symmetric in time: extrapolating backward is as bad as forward. */
static struct db_uncertainty apart_from(const struct db_uncertainty *then, double ns) {
    return db_uncertainty_after(then, fabs(ns));
}

/* The opinion of a process, as seen from another's local time; `since_ns` after the comparison of the two. */
static struct db_opinion seen_through(const struct db_clock_map *model, const struct consultation *consultation,
                                      int number, double since_ns, const struct db_opinion *opinion) {
    struct db_opinion seen = *opinion;
    seen.map = db_map_compose(model, &opinion->map);
    seen.prior = apart_from(&opinion->prior, db_map_elapsed_ns(&opinion->map, model->global_ns));
    seen.edge = apart_from(&consultation->models[number].uncertainty, since_ns);
    seen.noise = apart_from(&consultation->noises[number], since_ns);
    return seen;
}

/* The asker knows how the other's local time relates to the own, and says its opinion in that. */
static int tell_opinion(int partner, int number, int asks, void *argument) {
    struct consultation *consultation = argument;
    const struct db_opinion *mine = &consultation->opinions[0];
    struct db_opinion *told = &consultation->told[consultation->count];
    MPI_Request *sending = &consultation->sending[consultation->count++];
    *told = *mine;
    if (asks) {
        const struct db_clock_map *model = &consultation->models[number];
        const struct db_clock_map inverse = db_map_inverse(model);
        *told = seen_through(&inverse, consultation, number, db_map_elapsed_ns(model, mine->map.ticks), mine);
    }
    return db_start_send(&consultation->round->group->channel, (const int64_t *)told, OPINION_WORDS, partner, sending);
}

static int hear_opinion(int partner, int number, int asks, void *argument) {
    struct consultation *consultation = argument;
    const struct db_channel *channel = &consultation->round->group->channel;
    struct db_opinion *theirs = &consultation->opinions[1 + consultation->count];
    consultation->round->group->histories->edges[consultation->count++].partner = partner;
    DB_TRY(db_receive(channel, (int64_t *)theirs, OPINION_WORDS, partner));
    if (asks) {
        const struct db_clock_map *model = &consultation->models[number];
        double since_ns = db_map_elapsed_ns(model, consultation->opinions[0].map.ticks);
        *theirs = seen_through(model, consultation, number, since_ns, theirs);
    }
    return MPI_SUCCESS;
}

/* All send first, so that nobody waits for a process that waits. */
static int exchange_opinions(struct consultation *consultation, int partners) {
    const struct db_sync_group *group = consultation->round->group;
    consultation->count = 0;
    DB_TRY(db_partners(group, partners, tell_opinion, consultation));
    int sent = consultation->count;
    consultation->count = 0;
    int code = db_partners(group, partners, hear_opinion, consultation);
    for (int i = 0; i < sent; ++i) { /* whatever has failed: what they send is freed afterwards */
        int one = db_complete(&group->channel, &consultation->sending[i]);
        code = code == MPI_SUCCESS ? one : code;
    }
    return code;
}

/* Rounds of means. Derivation: with 24 partners of each process, an opinion has reached 24^4 processes. */
#define MEANS 4

/* The global clock that all partners agree on. Process 0's stays as it is. */
static int agree_with_partners(struct consultation *consultation, int partners, struct db_clock_map *map) {
    const struct db_sync_group *group = consultation->round->group;
    struct db_histories *histories = group->histories;
    double residuals_ns[DB_MAX_PARTNERS];
    for (int i = 0; i < MEANS; ++i) {
        DB_TRY(exchange_opinions(consultation, partners));
        if (consultation->count == 0)
            return MPI_SUCCESS;
        struct db_opinion mean =
            db_consensus(consultation->opinions, consultation->count, group->clock->resolution_ns, residuals_ns);
        if (group->rank > 0)
            consultation->opinions[0] = mean;
        consultation->opinions[0].variance_ns2 = mean.variance_ns2;
    }
    for (int i = 0; i < consultation->count; ++i)
        histories->edges[i].residual_ns = residuals_ns[i];
    histories->edge_count = consultation->count;
    histories->scatter_ns = sqrt(consultation->opinions[0].variance_ns2);
    if (group->rank > 0)
        db_sync_adopt(group, &consultation->opinions[0].map, map);
    return MPI_SUCCESS;
}

static int consult(struct consultation *consultation, const struct db_node *self, const struct db_sync_group *group,
                   struct db_clock_map *map) {
    const struct db_sync_group lasting = db_sync_lasting(group);
    int rounds = db_whole(self, ROUNDS);
    int partners = db_whole(self, PARTNERS);
    int64_t begin = db_clock_read(group->clock);
    struct round round = {.self = self, .group = &lasting, .map = *map};
    consultation->round = &round;
    for (int i = 0; i < rounds; ++i) {
        if (i > 0 && db_number(self, OVER) > 0.0) {
            double due_ns = db_number(self, OVER) * 1e9 * i / (rounds - 1);
            db_wait_until(group->clock, db_clock_read(group->clock), begin + llrint(due_ns / group->clock->ns_per_tick),
                          db_patience_of(&group->channel));
        }
        round.last = i == rounds - 1;
        DB_TRY(db_tree_wide(group, db_whole(self, RADIX), learn, teach, &round));
        DB_TRY(db_partners(&lasting, partners, compare_with_partner, consultation));
    }
    *map = round.map;
    consultation->opinions[0].map = db_sync_from_local(&lasting, &round.map);
    consultation->opinions[0].prior = round.map.uncertainty;
    return agree_with_partners(consultation, partners, map);
}

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    struct consultation *consultation = calloc(1, sizeof *consultation); /* 18 KB: a thread's stack may have 16 */
    int code = consultation != NULL ? consult(consultation, self, group, map) : MPI_ERR_NO_MEM;
    free(consultation);
    return code;
}

const struct db_sync_type db_sync_disciplined = {
    .component = {DB_DESCRIBED("disciplined",
                               "wide tree from process 0 down; every process keeps the offsets to its "
                               "reference, rate and offset follow from all of them",
                               "", parameters),
                  .check = check},
    .expecting = 1,
    .synchronize = synchronize};
