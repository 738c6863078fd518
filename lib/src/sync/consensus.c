/* The robust mean of clock estimates (consensus.h): weights by Tukey's biweight, iterated from the median. */
#include "sync/consensus.h"

#include "offset/offset.h"

#include <stdlib.h>

/* Compares two numbers, for qsort. */
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

/* Tukey's biweight: the weight is 0 beyond BIWEIGHT_REACH standard deviations. A value of 4.685 keeps 95 % of the
 * efficiency of the mean (Holland and Welsch 1977), 5 somewhat more. */
#define BIWEIGHT_REACH 5.0
/* Ratio of standard deviation and median absolute deviation (MAD) of a normal distribution (Rousseeuw and Croux 1993,
 * (1.1)). */
#define DEVIATIONS_PER_MAD 1.4826
/* Share of the variance of a prior error that comes from process 0's clock and so is common to all opinions: half,
 * because two similar clocks contribute equally to the variance of their difference. A mean with weights s, sum(s) = 1,
 * keeps all of the common variance, and sum(s^2) of the independent variance. */
#define COMMON_SHARE 0.5
/* Added to the variance of a rate, (1e-12)^2, so that a variance of 0 has a finite weight. Chosen by hand, since no
 * rate is known more exactly; half or twice the value makes no difference. */
#define MIN_RATE_VARIANCE 1e-24
/* Iterations of reweighting (IRLS) from the median. Chosen by hand; half or twice the value makes no difference. */
#define ITERATIONS 5

/* Tukey's biweight: 1 at distance 0, decreasing to 0 at BIWEIGHT_REACH standard deviations. */
static double biweight(double distance_ns, double deviation_ns) {
    double share = distance_ns / (BIWEIGHT_REACH * deviation_ns);
    return fabs(share) < 1.0 ? (1.0 - share * share) * (1.0 - share * share) : 0.0;
}

enum { MAX_OPINIONS = 1 + DB_MAX_PARTNERS };

/* All opinions at the time of opinion 0, the process's own, and their weights. */
struct weighing {
    double distance_ns[MAX_OPINIONS];           /* distance from the process's own opinion */
    struct db_uncertainty priors[MAX_OPINIONS]; /* uncertainties before partners are compared */
    struct db_uncertainty errors[MAX_OPINIONS]; /* `priors` plus uncertainties of the comparisons */
    double biweights[MAX_OPINIONS];             /* Tukey's biweights, from 0 for an outlier to 1 */
    double shares[MAX_OPINIONS];                /* weights of the mean; their sum is 1 */
    double center_ns;                           /* the mean, relative to the process's own opinion */
};

/* Computes the weights of `count` partners' opinions and the process's own, and the mean. */
static void weigh(const struct db_opinion opinions[], int count, double min_variance_ns2, struct weighing *weighing) {
    const struct db_clock_map *first = &opinions[0].map;
    for (int i = 0; i <= count; ++i) {
        const struct db_clock_map *map = &opinions[i].map;
        double elapsed_ns = db_map_elapsed_ns(map, first->ticks);
        weighing->priors[i] = db_uncertainty_after(&opinions[i].prior, fabs(elapsed_ns));
        weighing->errors[i] = db_uncertainty_sum(&weighing->priors[i], &opinions[i].edge);
        weighing->distance_ns[i] = (double)(map->global_ns - first->global_ns) + elapsed_ns;
    }
    double deviation_ns[MAX_OPINIONS] = {0};
    double center_ns = median(&weighing->distance_ns[1], count);
    for (int i = 1; i <= count; ++i)
        deviation_ns[i] = fabs(weighing->distance_ns[i] - center_ns);
    double scatter_ns = DEVIATIONS_PER_MAD * median(&deviation_ns[1], count);
    double scatter_ns2 = fmax(min_variance_ns2, scatter_ns * scatter_ns);
    double sum = 0.0;
    for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
        double next_ns = 0.0;
        sum = 0.0;
        for (int i = 0; i <= count; ++i) {
            double variance = scatter_ns2 + weighing->errors[i].offset;
            weighing->biweights[i] = biweight(weighing->distance_ns[i] - center_ns, sqrt(variance));
            weighing->shares[i] = weighing->biweights[i] / variance;
            sum += weighing->shares[i];
            next_ns += weighing->shares[i] * weighing->distance_ns[i];
        }
        center_ns = next_ns / sum;
    }
    for (int i = 0; i <= count; ++i)
        weighing->shares[i] /= sum;
    weighing->center_ns = center_ns;
}

/* Sets the mean rate, and the uncertainty without the noise of single comparisons, which find_scatter adds. */
static void find_rate(const struct db_opinion opinions[], int count, const struct weighing *weighing,
                      struct db_opinion *result) {
    struct db_uncertainty edges = {0};
    struct db_uncertainty prior = {0};
    double removed = 1.0 - 2.0 / count; /* share of a comparison's noise that the mean removes (consensus.h) */
    double rate = 0.0;                  /* weighted sum of rates */
    double sum = 0.0;                   /* of all weights */
    double squares = 0.0;               /* sum of squared weights times the prior variance of the rate */
    double partners = 0.0;              /* sum of the partners' weights */
    for (int i = 0; i <= count; ++i) {
        const struct db_uncertainty *partner_prior = &weighing->priors[i];
        /* Inverse variance: an oscillator whose rate is still unknown hardly counts. */
        double weight = weighing->biweights[i] / (MIN_RATE_VARIANCE + weighing->errors[i].rate);
        double share = weighing->shares[i];
        rate += weight * opinions[i].map.ns_per_tick;
        sum += weight;
        squares += weight * weight * partner_prior->rate;
        prior.offset += (COMMON_SHARE * share + (1.0 - COMMON_SHARE) * share * share) * partner_prior->offset;
        prior.rate += weight * partner_prior->rate;
        prior.cross += weight * partner_prior->cross;
        prior.walk += weight * partner_prior->walk;
        if (i == 0)
            continue;
        const struct db_uncertainty *edge = &opinions[i].edge;
        const struct db_uncertainty *noise = &opinions[i].noise;
        partners += weight;
        edges.offset += weight * (edge->offset - noise->offset);
        edges.cross += weight * (edge->cross - removed * noise->cross);
        edges.rate += weight * (edge->rate - removed * noise->rate);
        edges.walk += weight * edge->walk;
    }
    result->map.ns_per_tick = rate / sum;
    result->prior =
        (struct db_uncertainty){.offset = prior.offset,
                                .cross = COMMON_SHARE * prior.cross / sum,
                                .rate = (COMMON_SHARE * prior.rate + (1.0 - COMMON_SHARE) * squares / sum) / sum,
                                .walk = COMMON_SHARE * prior.walk / sum};
    edges = (struct db_uncertainty){.offset = edges.offset / partners,
                                    .cross = edges.cross / partners,
                                    .rate = edges.rate / partners,
                                    .walk = edges.walk / partners};
    result->map.uncertainty = db_uncertainty_sum(&edges, &result->prior);
}

/* Estimates the scatter of the comparisons, and adds the variance of their weighted mean (sum of w^2 * variance) to the
 * uncertainty. */
static void find_scatter(const struct db_opinion opinions[], int count, double min_variance_ns2,
                         const struct weighing *weighing, double residuals_ns[DB_MAX_PARTNERS],
                         struct db_opinion *result) {
    double squares = 0.0;
    double biweight_sum = 0.0;
    double share_squares = weighing->shares[0] * weighing->shares[0];
    for (int i = 1; i <= count; ++i) {
        residuals_ns[i - 1] = weighing->distance_ns[i] - weighing->center_ns;
        squares += weighing->biweights[i] * residuals_ns[i - 1] * residuals_ns[i - 1];
        biweight_sum += weighing->biweights[i];
        share_squares += weighing->shares[i] * weighing->shares[i];
    }
    result->variance_ns2 = fmax(min_variance_ns2, squares / biweight_sum * count / (count - 2.0));
    double variances[MAX_OPINIONS] = {0};
    for (int i = 0; i <= count; ++i)
        variances[i] = i == 0 || opinions[i].variance_ns2 == 0.0 ? result->variance_ns2 : opinions[i].variance_ns2;
    result->map.uncertainty.offset += share_squares * (result->variance_ns2 + median(variances, count + 1));
}

/* Sets the bound of the mean: the smallest bound that follows from an opinion and its distance from the mean. */
static void find_bound(const struct db_opinion opinions[], int count, const struct weighing *weighing,
                       struct db_clock_map *mean) {
    int64_t ticks = mean->ticks;
    mean->bound_ns = INFINITY;
    mean->growth = INFINITY;
    for (int i = 0; i <= count; ++i) {
        const struct db_clock_map *map = &opinions[i].map;
        double distance_ns = fabs(weighing->distance_ns[i] - weighing->center_ns);
        double growth = map->growth + map->ramp * fabs(db_map_elapsed_ns(map, ticks));
        mean->bound_ns = fmin(mean->bound_ns, db_map_bound_ns(map, ticks) + distance_ns + DB_ROUNDING_NS);
        mean->growth = fmin(mean->growth, growth + fabs(map->ns_per_tick - mean->ns_per_tick));
    }
}

struct db_opinion db_consensus(const struct db_opinion opinions[], int count, double resolution_ns,
                               double residuals_ns[DB_MAX_PARTNERS]) {
    /* Smallest variance of a comparison: (1 ns)^2 for rounding, and step^2 / 12 for each of two readings. */
    double min_variance_ns2 = 1.0 + resolution_ns * resolution_ns / 6.0;
    struct weighing weighing;
    struct db_opinion result = {.map = opinions[0].map};
    weigh(opinions, count, min_variance_ns2, &weighing);
    find_rate(opinions, count, &weighing, &result);
    find_scatter(opinions, count, min_variance_ns2, &weighing, residuals_ns, &result);
    find_bound(opinions, count, &weighing, &result.map);
    result.map.global_ns += llrint(weighing.center_ns);
    return result;
}
