/* The validation clock (validation.h): its error function, the wait, and the text of the setting `validation`. */
#define _POSIX_C_SOURCE 200809L
#include "clock/validation.h"

#include "clock/clock.h"
#include "component_text.h"
#include "split_mix.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SINES 3
#define TWO_PI 6.283185307179586

/* Periods of the sines whose sum is the wander. Chosen by hand: without common multiples, from the time of a few
 * synchronizations to the time of a long benchmark. */
static const double period_ns[SINES] = {1.7e9, 7.3e9, 31.1e9};

/* The clock that the validation clock wraps, and the known error of its readings. */
struct db_validation_clock {
    struct db_clock inner;      /* the wrapped clock, which shows the true time */
    int64_t origin;             /* reading of the inner clock at true time 0 */
    double ns_per_tick;         /* true ns per tick of the inner clock */
    double offset_ns;           /* error at true time 0, without the sines */
    double skew;                /* constant error of the rate, relative */
    double max_rate;            /* upper bound of the rate, ns per true ns */
    double amplitude_ns[SINES]; /* of the sines of the wander */
    double phase[SINES];        /* of the sines at true time 0, radians */
};

/* Uniform in [-1, 1). */
static double draw_symmetric(uint64_t *state) { return (double)(db_split_mix(state) >> 11) * 0x1p-52 - 1.0; }

double db_validation_at(const struct db_clock *clock, int64_t true_ticks) {
    const struct db_validation_clock *self = clock->data.validation.state;
    double x = (double)(true_ticks - self->origin) * self->ns_per_tick; /* as in validation.h */
    double wander = 0.0;
    for (int i = 0; i < SINES; ++i)
        wander += self->amplitude_ns[i] * sin(TWO_PI * x / period_ns[i] + self->phase[i]);
    return x + self->offset_ns + self->skew * x + wander;
}

int64_t db_validation_true_ticks(const struct db_clock *clock) {
    return db_clock_read(&clock->data.validation.state->inner);
}

static int64_t validation_read(const struct db_clock *clock) {
    return (int64_t)floor(db_validation_at(clock, db_validation_true_ticks(clock)));
}

/* Computes the inner reading at which this clock shows `ticks`, then waits once on the inner clock, so that the time
 * from the last reading to the return is like that of a real clock. */
static int64_t validation_wait_until(const struct db_clock *clock, int64_t ticks) {
    const struct db_validation_clock *self = clock->data.validation.state;
    const int64_t now = db_validation_true_ticks(clock);
    int64_t until = now;
    double shown = db_validation_at(clock, now);
    while (shown < (double)ticks) {
        /* Since max_rate is a bound, a step never leads past `ticks`, except the last one, of at least one tick. */
        double step = ((double)ticks - shown) / (self->max_rate * self->ns_per_tick);
        until += (int64_t)fmax(1.0, step);
        shown = db_validation_at(clock, until);
    }
    if (until > now)
        shown += (double)(self->inner.type->wait_until(&self->inner, until) - until) * self->ns_per_tick;
    return (int64_t)floor(shown);
}

static void validation_close(struct db_clock *clock) { free(clock->data.validation.state); }

/* Not in the registry: it wraps a clock and cannot be opened by name. */
static const struct db_clock_type validation_type = {
    .component = {DB_DESCRIBED("validation", "", "", DB_NO_PARAMETERS)},
    .open = NULL,
    .read = validation_read,
    .wait_until = validation_wait_until,
    .close = validation_close};

int db_validation_wraps(const struct db_clock *clock) { return clock->type == &validation_type; }

const char *db_validation_true_identity(const struct db_clock *clock) {
    const struct db_clock *inner = &clock->data.validation.state->inner;
    return inner->type->global ? inner->type->component.described.name : inner->identity;
}

int db_validation_wrap(struct db_clock *clock, const struct db_validation *validation, int rank, int64_t origin,
                       double ns_per_tick) {
    struct db_validation_clock *self = calloc(1, sizeof *self);
    if (self == NULL)
        return -1;
    int group = rank / (int)validation->ranks_per_clock;
    uint64_t state = (uint64_t)validation->seed * 0x2545f4914f6cdd1dU + (uint64_t)group;
    db_split_mix(&state);
    self->inner = *clock;
    self->origin = origin;
    self->ns_per_tick = ns_per_tick;
    self->offset_ns = validation->offset * 1e9 * draw_symmetric(&state);
    self->skew = validation->skew * draw_symmetric(&state);
    self->max_rate = 1.0 + fabs(self->skew) + validation->wander;
    for (int i = 0; i < SINES; ++i) {
        /* A sine of amplitude A and period T changes the frequency by up to 2 pi A / T; each sine has an equal share of
         * the bound. */
        self->amplitude_ns[i] = validation->wander / SINES * period_ns[i] / TWO_PI;
        self->phase[i] = TWO_PI * draw_symmetric(&state);
    }

    memset(clock, 0, sizeof *clock);
    clock->type = &validation_type;
    clock->ns_per_tick = 1.0;
    clock->resolution_ns = self->inner.resolution_ns;
    clock->simulated = self->inner.simulated;
    clock->absolute = 1; /* sync=none accepts the clock, so that tests can use it with an offset of 0 or not */
    clock->data.validation.state = self;
    if (self->inner.identity[0] != '\0')
        snprintf(clock->identity, sizeof clock->identity, "%.100s+%d", self->inner.identity,
                 validation->false_claim != 0.0 ? -1 : group);
    return 0;
}

/* Members of struct db_validation as parameters of the text. */
static const struct field {
    const char *name;
    size_t offset; /* of a double in struct db_validation */
    double high;   /* range of valid values */
    double low;
    int whole; /* 1 if the value must be an integer */
} fields[] = {
    {"offset", offsetof(struct db_validation, offset), 1e6, 0.0, 0},
    {"skew", offsetof(struct db_validation, skew), 0.1, 0.0, 0},
    {"wander", offsetof(struct db_validation, wander), 0.1, 0.0, 0},
    {"seed", offsetof(struct db_validation, seed), 0x1p53, 0.0, 1},
    {"ranks_per_clock", offsetof(struct db_validation, ranks_per_clock), 1e9, 1.0, 1},
    {"false_claim", offsetof(struct db_validation, false_claim), 1.0, 0.0, 1},
};
enum { FIELDS = sizeof fields / sizeof *fields };

const char *db_validation_parse(struct db_validation *validation, const char *text) {
    static const char valid[] = "off, or a list such as offset=1e-3,skew=20e-6,wander=1e-6,seed=1,ranks_per_clock=1,"
                                "false_claim=0 (s, relative, relative, integer >= 0, integer >= 1, 0 or 1)";
    memset(validation, 0, sizeof *validation);
    validation->ranks_per_clock = 1;
    if (strcmp(text, "off") == 0)
        return NULL;
    validation->enabled = 1;

    const char *keys[FIELDS + 1] = {NULL};
    struct db_slice values[FIELDS];
    struct db_slice unknown;
    char message[256];
    for (int i = 0; i < FIELDS; ++i)
        keys[i] = fields[i].name;
    if (db_read_values(db_slice_of(text, strlen(text)), keys, values, &unknown, message, sizeof message) != 0)
        return valid;
    for (int i = 0; i < FIELDS; ++i) {
        double *member = (double *)((char *)validation + fields[i].offset);
        if (values[i].text != NULL &&
            db_read_number(values[i], fields[i].low, fields[i].high, fields[i].whole, member) != 0)
            return valid;
    }
    return NULL;
}

void db_validation_format(const struct db_validation *validation, char *text, size_t size) {
    if (!validation->enabled)
        snprintf(text, size, "off");
    for (int i = 0; validation->enabled && i < FIELDS; ++i) {
        size_t length = i > 0 ? strlen(text) : 0;
        snprintf(text + length, size - length, fields[i].whole ? "%s%s=%.0f" : "%s%s=%.9g", i > 0 ? "," : "",
                 fields[i].name, *(const double *)((const char *)validation + fields[i].offset));
    }
}

int db_validation_same(const struct db_validation *a, const struct db_validation *b) {
    char texts[2][256];
    db_validation_format(a, texts[0], sizeof texts[0]);
    db_validation_format(b, texts[1], sizeof texts[1]);
    return strcmp(texts[0], texts[1]) == 0;
}
