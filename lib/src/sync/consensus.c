#include "sync/consensus.h"

#include "offset/offset.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

static double median(const double values[], int count) {
    double sorted[1 + DB_MAX_PARTNERS];
    for (int i = 0; i < count; ++i)
        sorted[i] = values[i];
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
}

/* Beyond so many standard deviations an opinion does not count; nearly all efficiency is kept. */
#define REACH 5.0
#define MEANS 5 /* each weighs by its distance from the one before */

/* How much an opinion so far away counts: 1 to 0. */
static double trust(double apart_ns, double deviation_ns) {
    double share = apart_ns / (REACH * deviation_ns);
    return fabs(share) < 1.0 ? (1.0 - share * share) * (1.0 - share * share) : 0.0;
}

struct db_opinion db_consensus(const struct db_opinion opinions[], int count, double resolution_ns,
                               double residuals_ns[DB_MAX_PARTNERS]) {
    enum { MOST = 1 + DB_MAX_PARTNERS };
    const struct db_clock_map *own = &opinions[0].map;
    double apart_ns[MOST] = {0}; /* from the own */
    double size_ns[MOST] = {0};
    double trusted[MOST];
    struct db_uncertainty priors[MOST];
    struct db_uncertainty errors[MOST];
    for (int i = 0; i <= count; ++i) {
        const struct db_clock_map *map = &opinions[i].map;
        double elapsed_ns = db_map_elapsed_ns(map, own->ticks);
        priors[i] = db_uncertainty_after(&opinions[i].prior, fabs(elapsed_ns));
        errors[i] = db_uncertainty_sum(&priors[i], &opinions[i].edge);
        apart_ns[i] = (double)(map->global_ns - own->global_ns) + elapsed_ns;
    }

    double least_ns2 = 1.0 + resolution_ns * resolution_ns / 6.0;
    double center_ns = median(&apart_ns[1], count);
    for (int i = 1; i <= count; ++i)
        size_ns[i] = fabs(apart_ns[i] - center_ns);
    double scatter_ns = 1.4826 * median(&size_ns[1], count);
    double scatter_ns2 = fmax(least_ns2, scatter_ns * scatter_ns);
    double shares[MOST];
    double sum;
    for (int mean = 0; mean < MEANS; ++mean) {
        double next_ns = 0.0;
        sum = 0.0;
        for (int i = 0; i <= count; ++i) {
            double variance = scatter_ns2 + errors[i].offset;
            trusted[i] = trust(apart_ns[i] - center_ns, sqrt(variance));
            shares[i] = trusted[i] / variance;
            sum += shares[i];
            next_ns += shares[i] * apart_ns[i];
        }
        center_ns = next_ns / sum;
    }

    struct db_opinion result = {.map = *own};
    double squares = 0.0;
    double trust_sum = 0.0;
    double rate_sum = 0.0;
    double rate = 0.0;
    double rate_squares = 0.0;
    double edge_sum = 0.0;
    struct db_uncertainty prior = {0};
    double share_squares = 0.0;
    struct db_uncertainty *found = &result.map.uncertainty;
    *found = (struct db_uncertainty){0};
    for (int i = 0; i <= count; ++i) {
        double share = shares[i] / sum;
        /* An oscillator of which nothing is known yet says nothing of rates. */
        double rate_share = (0.01 + trusted[i]) / (1e-24 + errors[i].rate);
        share_squares += share * share;
        rate_sum += rate_share;
        rate_squares += rate_share * rate_share * priors[i].rate;
        prior.offset += 0.5 * (share + share * share) * priors[i].offset;
        prior.rate += rate_share * priors[i].rate;
        prior.cross += rate_share * priors[i].cross;
        prior.walk += rate_share * priors[i].walk;
        rate += rate_share * opinions[i].map.ns_per_tick;
        if (i == 0)
            continue;
        const struct db_uncertainty *edge = &opinions[i].edge;
        const struct db_uncertainty *noise = &opinions[i].noise;
        double kept = 1.0 - 2.0 / count; /* what is left of noise after the mean goes away from it */
        edge_sum += rate_share;
        found->offset += rate_share * (edge->offset - noise->offset);
        found->cross += rate_share * (edge->cross - kept * noise->cross);
        found->rate += rate_share * (edge->rate - kept * noise->rate);
        found->walk += rate_share * edge->walk;
        residuals_ns[i - 1] = apart_ns[i] - center_ns;
        squares += trusted[i] * residuals_ns[i - 1] * residuals_ns[i - 1];
        trust_sum += trusted[i];
    }
    result.map.ns_per_tick = rate / rate_sum;
    result.variance_ns2 = fmax(least_ns2, squares / trust_sum * count / (count - 2.0));
    found->offset /= edge_sum;
    found->cross /= edge_sum;
    found->rate /= edge_sum;
    found->walk /= edge_sum;

    double variances[MOST] = {0};
    for (int i = 0; i <= count; ++i)
        variances[i] = i == 0 || opinions[i].variance_ns2 == 0.0 ? result.variance_ns2 : opinions[i].variance_ns2;
    found->offset += share_squares * (result.variance_ns2 + median(variances, count + 1));

    result.prior = (struct db_uncertainty){.offset = prior.offset,
                                           .cross = 0.5 * prior.cross / rate_sum,
                                           .rate = 0.5 * (prior.rate + rate_squares / rate_sum) / rate_sum,
                                           .walk = 0.5 * prior.walk / rate_sum};
    *found = db_uncertainty_sum(found, &result.prior);

    result.map.bound_ns = INFINITY;
    result.map.growth = INFINITY;
    for (int i = 0; i <= count; ++i) {
        const struct db_clock_map *map = &opinions[i].map;
        double elapsed_ns = fabs(db_map_elapsed_ns(map, own->ticks));
        double bound_ns = db_map_bound_ns(map, own->ticks) + fabs(apart_ns[i] - center_ns) + DB_ROUNDING_NS;
        double growth = map->growth + map->ramp * elapsed_ns + fabs(map->ns_per_tick - result.map.ns_per_tick);
        result.map.bound_ns = fmin(result.map.bound_ns, bound_ns);
        result.map.growth = fmin(result.map.growth, growth);
    }
    result.map.global_ns += llrint(center_ns);
    return result;
}
