/* The default scheme, disciplined: clocks that use the offsets of earlier synchronizations. Every process has one fixed
 * reference, compares its local clock with the reference's in each synchronization, and estimates offset and rate from
 * all of these offsets (discipline.h). The global clock is passed down the tree with the last message of each
 * comparison.
 *
 * The tree is wide and shallow, because each level adds half a round trip to the error bound. But each process that a
 * reference serves takes the time of some exchanges, so the width is limited (start/schedule.c).
 *
 * Path asymmetry shifts an offset by half of the difference between the one-way delays. Exchanges do not show path
 * asymmetry, and it accumulates along the tree. So in a large group every process is also compared with many others,
 * its partners, and averages its clock with theirs in a few iterations, which approximates least squares over all
 * comparisons (consensus.h). The scatter of the comparisons is part of the expected error. */
#include "sync/sync.h"

#include "base/error.h"
#include "clock/wait.h"
#include "sync/consensus.h"

#include <stdlib.h>

enum { RADIX, ROUNDS, OVER, PARTNERS, OFFSET }; /* indices of the parameters */

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
    int partners = db_integer(self, PARTNERS);
    if (db_number(self, RADIX) == 1)
        return "a tree of radix 1 has no end; use radix 0 or 2 and more";
    if (partners % 2 == 1 || partners == 2)
        return "partners come in pairs, and two show no scatter; use partners=0, or an even number from 4";
    return db_number(self, OVER) > 0.0 && db_number(self, ROUNDS) < 2
               ? "one round cannot be spread; use rounds of 2 or more"
               : NULL;
}

/* Predicts the map from this process's clock to the reference's local time from earlier comparisons. Before the first
 * comparison the result is this process's local time. Measured on this timeline, the clocks hardly drift during a
 * comparison, even if it is interrupted. */
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

/* Converts an offset relative to the predicted timeline into one relative to local time. */
static struct db_offset relative_to_local(const struct db_sync_group *group, const struct db_clock_map *predicted,
                                          const struct db_offset *offset) {
    struct db_offset local_offset = *offset;
    int64_t ticks = db_map_ticks(predicted, offset->at);
    double local = db_map_elapsed_ns(&group->local, ticks);
    double shift = (double)predicted->global_ns - local + db_map_elapsed_ns(predicted, ticks);
    local_offset.at = llrint(local);
    local_offset.offset_ns += shift;
    local_offset.lower_ns += shift;
    local_offset.upper_ns += shift;
    double since_ns = fabs(db_map_elapsed_ns(predicted, ticks));
    local_offset.drift_ns = (predicted->growth + predicted->ramp * since_ns) * offset->duration_ns;
    local_offset.drift_deviation_ns =
        sqrt(db_uncertainty_after(&predicted->uncertainty, since_ns).rate) * offset->duration_ns;
    return local_offset;
}

/* Maximum number of offset estimates per comparison, for a reference that serves few processes. Each estimate narrows
 * the common interval. Chosen by hand. With half the value the exit skew is 25 % larger; with twice, synchronizations
 * take 33 % more time. */
#define MAX_REPETITIONS 24
/* Limit of the time of repetitions, for all processes together that a reference serves: MAX_COMPARISON_NS, or this
 * share of the time since the last comparison if that is longer. On a slow network, further synchronizations are more
 * informative than repetitions, since they also show drift. Chosen by hand, less than the 1 % of all time that
 * schedule.c allows. With half the values, 4 % more starts are valid; with twice the share, 25 % fewer. */
#define MAX_COMPARISON_NS 5e6
#define MAX_COMPARISON_SHARE 0.008

/* Number of processes that a reference serves on a level of the tree. */
static int served_by_one(const struct db_node *self, const struct db_sync_group *group) {
    return db_tree_radix(group, db_integer(self, RADIX)) - 1;
}

/* Number of estimates per comparison: fewer if a reference serves many processes. */
static int repetitions_for(const struct db_node *self, const struct db_sync_group *group) {
    int affordable = 2 * MAX_REPETITIONS / served_by_one(self, group);
    if (affordable < 1)
        return 1;
    return affordable < MAX_REPETITIONS ? affordable : MAX_REPETITIONS;
}

/* Combines two offsets, measured in succession on a timeline with negligible drift: the intersection of their
 * intervals. */
static struct db_offset intersection(const struct db_offset *first, const struct db_offset *second) {
    struct db_offset offset = *second;
    offset.lower_ns = fmax(first->lower_ns, second->lower_ns);
    offset.upper_ns = fmin(first->upper_ns, second->upper_ns);
    offset.offset_ns = (offset.lower_ns + offset.upper_ns) / 2.0;
    offset.duration_ns = (double)(second->at - first->at) + first->duration_ns;
    offset.exchanges = first->exchanges + second->exchanges;
    return offset;
}

/* Measures the offset several times, and combines the estimates. Only skampi's estimates are intervals. `since_ns`:
 * time since the last comparison. */
static int measure_repeatedly(const struct db_node *self, const struct db_sync_group *group,
                              const struct db_asker *asker, struct db_pair *pair, double since_ns,
                              struct db_offset *offset) {
    const struct db_node *estimator = db_child(self, OFFSET);
    int repetitions = db_is(estimator, &db_offset_skampi) ? repetitions_for(self, group) : 1;
    double max_ns = fmax(MAX_COMPARISON_NS, MAX_COMPARISON_SHARE * since_ns) / served_by_one(self, group);
    int64_t begin = db_clock_read(group->clock);
    DB_TRY(db_offset_measure(estimator, asker, pair, offset));
    for (int i = 1; i < repetitions; ++i) {
        if ((double)(db_clock_read(group->clock) - begin) * group->clock->ns_per_tick > max_ns)
            break;
        struct db_offset next;
        DB_TRY(db_offset_measure(estimator, asker, pair, &next));
        *offset = intersection(offset, &next);
    }
    return MPI_SUCCESS;
}

/* Measures the offset of the reference's local clock, and adds it to the history. */
static int compare_local(const struct db_node *self, const struct db_sync_group *group, int reference,
                         struct db_pair *pair, struct db_history *history) {
    if (history->reference != reference)
        *history = (struct db_history){.reference = reference};
    history->among_many = history != &group->histories->reference; /* 1: the peer is a partner */
    struct db_clock_map predicted = prediction(group, history);
    double now_ns = db_map_elapsed_ns(&group->local, db_clock_read(group->clock));
    double since_ns = history->count > 0 ? now_ns - (double)history->points[history->count - 1].at : 0.0;
    const struct db_asker asker = {
        .channel = &group->channel, .peer = reference, .timeline = {.clock = group->clock, .map = &predicted}};
    struct db_offset offset;
    struct db_timeline_error error; /* not used: the peer answers with its local time, which is exact */
    DB_TRY(db_exchange_begin(&asker));
    DB_TRY(measure_repeatedly(self, group, &asker, pair, since_ns, &offset));
    DB_TRY(db_exchange_stop(&asker, &error));
    offset = relative_to_local(group, &predicted, &offset);
    double contradicted = db_history_add(history, &offset, &group->limits, group->clock->resolution_ns);
    *group->contradicted = fmax(*group->contradicted, contradicted);
    return MPI_SUCCESS;
}

/* A round of comparisons in the tree; argument of learn and teach. */
struct round {
    const struct db_node *self;
    const struct db_sync_group *group;
    int last;                /* 1 in the last round, which passes the global clock down */
    struct db_clock_map map; /* this process's map to the global clock */
};

/* Compares clocks with a peer. Sets `model` to the map from local time to the peer's local time. `noise`: see
 * db_discipline. */
static int compare(const struct round *round, int peer, struct db_pair *pair, struct db_history *history,
                   struct db_clock_map *model, struct db_uncertainty *noise) {
    const struct db_sync_group *group = round->group;
    DB_TRY(compare_local(round->self, group, peer, pair, history));
    *model = db_discipline(history, &group->limits, group->clock->resolution_ns, noise);
    model->bound_ns += group->clock->resolution_ns + DB_ROUNDING_NS;
    return MPI_SUCCESS;
}

/* Compares this process's clock with its reference's; in the last round, gets the global clock from it. */
static int learn(int reference, void *argument) {
    struct round *round = argument;
    const struct db_sync_group *group = round->group;
    struct db_clock_map model;
    DB_TRY(compare(round, reference, &group->pairs[0], &group->histories->reference, &model, NULL));
    if (!round->last)
        return MPI_SUCCESS;
    struct db_clock_map reference_map;
    DB_TRY(db_sync_receive_map(group, reference, &reference_map));
    model = db_map_compose(&model, &reference_map);
    db_sync_adopt(group, &model, &round->map);
    return MPI_SUCCESS;
}

/* Answers a learner; in the last round, sends it the map to the global clock. */
static int teach(int learner, void *argument) {
    const struct round *round = argument;
    DB_TRY(db_sync_teach(round->group, learner, &round->group->local));
    if (!round->last)
        return MPI_SUCCESS;
    const struct db_clock_map map = db_sync_from_local(round->group, &round->map);
    return db_sync_send_map(round->group, learner, &map);
}

/* The state of a process during the consensus with its partners. */
struct consensus {
    const struct round *round;
    struct db_clock_map models[DB_MAX_PARTNERS / 2]; /* maps to the local time of the partners that this process asks */
    struct db_uncertainty noises[DB_MAX_PARTNERS / 2]; /* measurement noise of `models` */
    int count;                                         /* number of partners so far */
    struct db_opinion opinions[1 + DB_MAX_PARTNERS];   /* the process's own opinion, then its partners' */
    struct db_opinion outgoing[DB_MAX_PARTNERS];       /* the process's own opinion, as sent to each partner */
    MPI_Request sending[DB_MAX_PARTNERS];
};

/* Compares the two local clocks of a pair. Only the asker computes a model; it converts opinions in both directions. */
static int compare_with_partner(int partner, int number, int asks, void *argument) {
    struct consensus *consensus = argument;
    const struct db_sync_group *group = consensus->round->group;
    return asks ? compare(consensus->round, partner, &group->pairs[1 + number], &group->histories->partners[number],
                          &consensus->models[number], &consensus->noises[number])
                : db_sync_teach(group, partner, &group->local);
}

#define OPINION_WORDS ((int)(sizeof(struct db_opinion) / sizeof(int64_t)))

/* Uncertainty at `ns` before (negative) or after: extrapolating backward is as uncertain as forward. */
static struct db_uncertainty extrapolated(const struct db_uncertainty *then, double ns) {
    return db_uncertainty_after(then, fabs(ns));
}

/* Converts an opinion to a map from another process's local time, `since_ns` after the comparison of the pair. `model`
 * maps between the two local times. */
static struct db_opinion converted(const struct db_clock_map *model, const struct consensus *consensus, int number,
                                   double since_ns, const struct db_opinion *opinion) {
    struct db_opinion result = *opinion;
    result.map = db_map_compose(model, &opinion->map);
    result.prior = extrapolated(&opinion->prior, db_map_elapsed_ns(&opinion->map, model->global_ns));
    result.edge = extrapolated(&consensus->models[number].uncertainty, since_ns);
    result.noise = extrapolated(&consensus->noises[number], since_ns);
    return result;
}

/* Sends this process's opinion to a partner. The asker has the model between the two local times, so it converts the
 * opinion to the partner's local time. */
static int send_opinion(int partner, int number, int asks, void *argument) {
    struct consensus *consensus = argument;
    const struct db_opinion *opinion = &consensus->opinions[0];
    struct db_opinion *outgoing = &consensus->outgoing[consensus->count];
    MPI_Request *sending = &consensus->sending[consensus->count++];
    *outgoing = *opinion;
    if (asks) {
        const struct db_clock_map *model = &consensus->models[number];
        const struct db_clock_map inverse = db_map_inverse(model);
        *outgoing = converted(&inverse, consensus, number, db_map_elapsed_ns(model, opinion->map.ticks), opinion);
    }
    return db_start_send(&consensus->round->group->channel, (const int64_t *)outgoing, OPINION_WORDS, partner, sending);
}

/* Receives a partner's opinion. The asker converts it to its own local time; otherwise the partner has converted it. */
static int receive_opinion(int partner, int number, int asks, void *argument) {
    struct consensus *consensus = argument;
    const struct db_channel *channel = &consensus->round->group->channel;
    struct db_opinion *opinion = &consensus->opinions[1 + consensus->count];
    consensus->round->group->histories->edges[consensus->count++].partner = partner;
    DB_TRY(db_receive(channel, (int64_t *)opinion, OPINION_WORDS, partner));
    if (asks) {
        const struct db_clock_map *model = &consensus->models[number];
        double since_ns = db_map_elapsed_ns(model, consensus->opinions[0].map.ticks);
        *opinion = converted(model, consensus, number, since_ns, opinion);
    }
    return MPI_SUCCESS;
}

/* All processes send before they receive, to avoid a deadlock. */
static int exchange_opinions(struct consensus *consensus, int partners) {
    const struct db_sync_group *group = consensus->round->group;
    consensus->count = 0;
    DB_TRY(db_partners(group, partners, send_opinion, consensus));
    int sent = consensus->count;
    consensus->count = 0;
    int code = db_partners(group, partners, receive_opinion, consensus);
    for (int i = 0; i < sent; ++i) { /* also after an error, since the memory of the messages is freed afterwards */
        int completed = db_complete(&group->channel, &consensus->sending[i]);
        code = code == MPI_SUCCESS ? completed : code;
    }
    return code;
}

/* Iterations of averaging: with 24 partners per process, an opinion reaches 24^4 processes. */
#define CONSENSUS_ITERATIONS 4

/* Averages the global clock with the partners' estimates, in CONSENSUS_ITERATIONS iterations. Process 0's opinion
 * stays, since its clock is the global clock. */
static int agree_with_partners(struct consensus *consensus, int partners, struct db_clock_map *map) {
    const struct db_sync_group *group = consensus->round->group;
    struct db_histories *histories = group->histories;
    double residuals_ns[DB_MAX_PARTNERS];
    for (int i = 0; i < CONSENSUS_ITERATIONS; ++i) {
        DB_TRY(exchange_opinions(consensus, partners));
        if (consensus->count == 0)
            return MPI_SUCCESS;
        struct db_opinion mean =
            db_consensus(consensus->opinions, consensus->count, group->clock->resolution_ns, residuals_ns);
        if (group->rank > 0)
            consensus->opinions[0] = mean;
        consensus->opinions[0].variance_ns2 = mean.variance_ns2;
    }
    for (int i = 0; i < consensus->count; ++i)
        histories->edges[i].residual_ns = residuals_ns[i];
    histories->edge_count = consensus->count;
    histories->scatter_ns = sqrt(consensus->opinions[0].variance_ns2);
    if (group->rank > 0)
        db_sync_adopt(group, &consensus->opinions[0].map, map);
    return MPI_SUCCESS;
}

/* Compares clocks in the tree and with partners, and averages. */
static int reach_consensus(struct consensus *consensus, const struct db_node *self, const struct db_sync_group *group,
                           struct db_clock_map *map) {
    const struct db_sync_group lasting = db_sync_lasting(group);
    int rounds = db_integer(self, ROUNDS);
    int partners = db_integer(self, PARTNERS);
    int64_t begin = db_clock_read(group->clock);
    struct round round = {.self = self, .group = &lasting, .map = *map};
    consensus->round = &round;
    for (int i = 0; i < rounds; ++i) {
        if (i > 0 && db_number(self, OVER) > 0.0) {
            double due_ns = db_number(self, OVER) * 1e9 * i / (rounds - 1);
            db_wait_until(group->clock, db_clock_read(group->clock), begin + llrint(due_ns / group->clock->ns_per_tick),
                          db_patience_of(&group->channel));
        }
        round.last = i == rounds - 1;
        DB_TRY(db_tree_wide(group, db_integer(self, RADIX), learn, teach, &round));
        DB_TRY(db_partners(&lasting, partners, compare_with_partner, consensus));
    }
    *map = round.map;
    consensus->opinions[0].map = db_sync_from_local(&lasting, &round.map);
    consensus->opinions[0].prior = round.map.uncertainty;
    return agree_with_partners(consensus, partners, map);
}

static int synchronize(const struct db_node *self, const struct db_sync_group *group, struct db_clock_map *map) {
    struct consensus *consensus = calloc(1, sizeof *consensus); /* 18 KB; a thread's stack may have only 16 KB */
    int code = consensus != NULL ? reach_consensus(consensus, self, group, map) : MPI_ERR_NO_MEM;
    free(consensus);
    return code;
}

const struct db_sync_type db_sync_disciplined = {
    .component = {DB_DESCRIBED("disciplined",
                               "wide tree from process 0 down; every process keeps the offsets to its "
                               "reference and computes rate and offset from all of them",
                               "", parameters),
                  .check = check},
    .expecting = 1,
    .synchronize = synchronize};
