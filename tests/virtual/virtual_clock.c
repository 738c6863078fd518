#include "check.h"
#include "random.h"
#include "virtual_world.h"

#include <math.h>

#define TWO_PI 6.283185307179586

struct virtual_oscillator *virtual_oscillator(struct virtual_world *world, int process) {
    return &world->processes[process].oscillator;
}

/* The next pause begins after a random time. */
static void draw_pause(struct process *process, double from_ns) {
    double every_ns = process->world->model.pause_every_ns;
    process->next_pause_ns = every_ns > 0.0 ? from_ns - every_ns * log(uniform(&process->pauses)) : (double)INFINITY;
}

/* How long the one that begins takes. */
static double pause_length_ns(struct process *process) {
    const struct virtual_model *model = &process->world->model;
    if (model->pause_most_ns <= model->pause_ns)
        return model->pause_ns;
    return model->pause_ns * pow(model->pause_most_ns / model->pause_ns, uniform(&process->pauses));
}

/* Something takes this process some time: a pause comes on top. */
void virtual_work(double ns) {
    virtual_self->now_ns += ns;
    while (virtual_self->now_ns >= virtual_self->next_pause_ns) {
        virtual_self->now_ns += pause_length_ns(virtual_self);
        draw_pause(virtual_self, virtual_self->now_ns);
    }
}

/* Nothing to do until `true_ns`: a pause matters only where it lasts longer. */
void virtual_rest_until(double true_ns) {
    CHECK(virtual_self != NULL);
    if (true_ns <= virtual_self->now_ns)
        return;
    virtual_self->now_ns = true_ns;
    while (virtual_self->now_ns >= virtual_self->next_pause_ns) {
        double over_ns = virtual_self->next_pause_ns + pause_length_ns(virtual_self);
        virtual_self->now_ns = fmax(virtual_self->now_ns, over_ns);
        draw_pause(virtual_self, over_ns);
    }
}

static double ramp_ns(const struct virtual_oscillator *oscillator, double true_ns) {
    double passed_ns = fmax(0.0, true_ns - oscillator->ramp_from_ns);
    double rising_ns = oscillator->ramp_for_ns > 0.0 ? fmin(passed_ns, oscillator->ramp_for_ns) : passed_ns;
    return oscillator->ramp * 1e-9 * rising_ns * (passed_ns - rising_ns / 2.0);
}

static double turns_ns(const struct virtual_oscillator *oscillator, double true_ns) {
    double turned_ns = 0.0;
    for (int i = 0; i < oscillator->turn_count; ++i) {
        const struct virtual_turn *turn = &oscillator->turns[i];
        if (true_ns >= turn->at_ns)
            turned_ns += turn->step_ns + turn->skew * (true_ns - turn->at_ns);
    }
    return turned_ns;
}

/* Ticks since BASE_TICKS, with fractions. */
double virtual_fractional_ticks(const struct virtual_oscillator *oscillator, double true_ns) {
    /* Incommensurable, from the length of a few resynchronizations to that of a long benchmark. */
    static const double period_ns[VIRTUAL_SINES] = {1.7e9, 7.3e9, 31.1e9};
    double wander_ns = 0.0;
    for (int i = 0; i < VIRTUAL_SINES; ++i) {
        /* A sine of amplitude A and period T deviates in frequency by up to 2 pi A / T: equal shares of the bound. */
        double amplitude_ns = oscillator->wander / VIRTUAL_SINES * period_ns[i] / TWO_PI;
        wander_ns += amplitude_ns * sin(TWO_PI * true_ns / period_ns[i] + oscillator->phase[i]);
    }
    return (true_ns + oscillator->offset_ns + oscillator->skew * true_ns + ramp_ns(oscillator, true_ns) + wander_ns +
            turns_ns(oscillator, true_ns)) /
           oscillator->ns_per_tick;
}

static double step_of(const struct virtual_model *model) { return fmax(1.0, model->granularity); }

static int64_t read_ticks(const struct db_clock *clock) {
    CHECK(virtual_self != NULL && clock->ns_per_tick == virtual_self->clock.ns_per_tick);
    const struct virtual_model *model = &virtual_self->world->model;
    virtual_work(model->read_ns / 2.0);
    double step = step_of(model);
    double ticks = floor(virtual_fractional_ticks(&virtual_self->oscillator, virtual_self->now_ns) / step) * step;
    virtual_self->read_ns = virtual_self->now_ns;
    virtual_work(model->read_ns / 2.0);
    return BASE_TICKS + (int64_t)ticks;
}

/* A process that spins sees the clock jump. */
static double before_next_turn(const struct process *process, double until_ns) {
    for (int i = 0; i < process->oscillator.turn_count; ++i) {
        double at_ns = process->oscillator.turns[i].at_ns;
        if (at_ns > process->now_ns)
            until_ns = fmin(until_ns, at_ns);
    }
    return until_ns;
}

/* Reads as the library's clocks do, one reading after another, but skips nearly all of them: no clock is off by a
 * hundredth. */
static int64_t wait_until(const struct db_clock *clock, int64_t ticks) {
    const double read_ns = virtual_self->world->model.read_ns;
    double step = step_of(&virtual_self->world->model);
    double shown = ceil((double)(ticks - BASE_TICKS) / step) * step;
    int64_t reading = read_ticks(clock);
    while (reading < ticks) {
        double left = shown - virtual_fractional_ticks(&virtual_self->oscillator, virtual_self->now_ns);
        double nearly_ns = 0.99 * left * virtual_self->oscillator.ns_per_tick;
        nearly_ns = read_ns > 0.0 ? floor(nearly_ns / read_ns) * read_ns : nearly_ns + 0.1;
        virtual_rest_until(before_next_turn(virtual_self, virtual_self->now_ns + nearly_ns));
        reading = read_ticks(clock);
    }
    return reading;
}

static const struct db_clock_type virtual_clock_type = {.read = read_ticks, .wait_until = wait_until};

void virtual_set_clock(struct process *process) {
    const struct virtual_oscillator *oscillator = &process->oscillator;
    process->clock = (struct db_clock){.type = &virtual_clock_type,
                                       .ns_per_tick = oscillator->ns_per_tick * (1.0 + oscillator->calibration),
                                       .rate_error = process->world->model.calibration,
                                       .resolution_ns = oscillator->ns_per_tick * step_of(&process->world->model),
                                       .simulated = 1};
}

void virtual_draw_clock(struct process *process) {
    const struct virtual_model *model = &process->world->model;
    uint64_t state = stream(~model->seed, (uint64_t)process->index, 0, 0);
    process->pauses = stream(~model->seed, (uint64_t)process->index, 1, 0);
    draw_pause(process, 0.0);
    process->oscillator = (struct virtual_oscillator){.offset_ns = model->offset_ns * symmetric(&state),
                                                      .skew = model->skew * symmetric(&state),
                                                      .wander = model->wander,
                                                      .ns_per_tick = model->ns_per_tick,
                                                      .calibration = model->calibration * symmetric(&state)};
    for (int i = 0; i < VIRTUAL_SINES; ++i)
        process->oscillator.phase[i] = TWO_PI * uniform(&state);
    process->oscillator.ramp = model->ramp * symmetric(&state);
    process->oscillator.ramp_from_ns = model->ramp_from_ns;
    process->oscillator.ramp_for_ns = model->ramp_for_ns;
}

void virtual_draw_turns(struct virtual_world *world) {
    const struct virtual_model *model = &world->model;
    uint64_t state = stream(~model->seed, (uint64_t)world->size, 2, 0);
    for (int i = 0; i < model->turns; ++i) {
        int process = (int)(unit_of(db_split_mix(&state)) * world->size);
        struct virtual_oscillator *oscillator = virtual_oscillator(world, process);
        struct virtual_turn turn = {.at_ns = model->turns_until_ns * uniform(&state),
                                    .step_ns = model->step_ns * (uniform(&state) < 0.5 ? -1.0 : 1.0),
                                    .skew = model->turn_skew * symmetric(&state)};
        CHECK_THAT(oscillator->turn_count, <, VIRTUAL_TURNS);
        oscillator->turns[oscillator->turn_count++] = turn;
    }
}

double virtual_here_ns(void) {
    CHECK(virtual_self != NULL);
    return virtual_self->now_ns;
}

double virtual_read_ns(void) {
    CHECK(virtual_self != NULL);
    return virtual_self->read_ns;
}

const struct db_clock *virtual_clock(void) {
    CHECK(virtual_self != NULL);
    return &virtual_self->clock;
}

int64_t virtual_ticks(struct virtual_world *world, int process, double true_ns) {
    return BASE_TICKS + (int64_t)floor(virtual_fractional_ticks(virtual_oscillator(world, process), true_ns));
}

double virtual_global_ns(struct virtual_world *world, int process, const struct db_clock_map *map, double true_ns) {
    double ticks =
        virtual_fractional_ticks(virtual_oscillator(world, process), true_ns) - (double)(map->ticks - BASE_TICKS);
    return ticks * map->ns_per_tick + (double)map->global_ns;
}
