/* The processor's time stamp counter: the TSC on x86-64 if it is invariant (constant rate), the generic timer on
 * aarch64. A processor-specific block below defines counter_read, counter_poll, relax and counter_invariant. */
#define _GNU_SOURCE
#include "clock/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>

/* Reads the counter after all earlier instructions, so that a timestamp is not taken before the operation that it
 * follows. */
static int64_t counter_read(void) {
    unsigned processor;
    return (int64_t)__rdtscp(&processor);
}

/* Reads the counter without that order: twice as fast, so that a wait ends closer to the deadline. */
static int64_t counter_poll(void) { return (int64_t)__rdtsc(); }

/* Pauses in a spinning loop. */
static void relax(void) { _mm_pause(); }

/* Returns 1 if the counter has a constant rate and is synchronized between processors. */
static int counter_invariant(void) {
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) || (edx & (1U << 8)) == 0)
        return 0;
    /* The kernel removes the TSC from this list if it is not synchronized between processors. */
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "r");
    if (file == NULL)
        return 1;
    char list[256] = "";
    size_t length = fread(list, 1, sizeof list - 1, file);
    fclose(file);
    list[length] = '\0';
    return strstr(list, "tsc") != NULL;
}

#elif defined(__aarch64__)

static int64_t counter_read(void) {
    int64_t value;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value)::"memory");
    return value;
}

static int64_t counter_poll(void) {
    int64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value)::"memory");
    return value;
}

static void relax(void) { __asm__ volatile("yield"); }

static int counter_invariant(void) { return 1; /* by the architecture (Arm ARM, Generic Timer) */ }

#else

static int64_t counter_read(void) { return 0; }
static int64_t counter_poll(void) { return 0; }
static void relax(void) {}
static int counter_invariant(void) { return 0; }

#endif

/* Duration of the first calibration: 10 ms give an error of 3 ppm with readings that are exact to 30 ns; tsc_refine
 * improves that later. With half the value the error is 6 ppm until then; with twice, the first call of a program takes
 * 20 ms. */
#define CALIBRATION_NS 10000000
/* Time before the deadline from which a wait polls without pauses. A pause takes up to 150 cycles, 50 ns at 3 GHz, and
 * must end before the deadline. With half or twice the value, waits end at the same time. */
#define POLL_NS 500

/* Clock for the calibration. Not monotonic, because NTP may change its rate by 500 ppm during the calibration, which
 * would invalidate all bounds. */
static const struct db_clock reference = {.type = &db_clock_monotonic_raw, .ns_per_tick = 1.0};

/* Sets the length of a tick and its error from the time since the clock was opened. */
static void calibrate(struct db_clock *clock) {
    struct db_clock_pair now = db_clock_read_pair(clock, &reference);
    double ticks = (double)(now.outer - clock->data.counter.anchor_ticks);
    clock->data.counter.baseline_ns = now.inner - clock->data.counter.anchor_ns;
    clock->ns_per_tick = (double)clock->data.counter.baseline_ns / ticks;
    clock->rate_error = (double)(now.width + clock->data.counter.anchor_width) / 2.0 / ticks;
}

/* Opens the clock, and calibrates it against the reference. Fails if the counter does not have a constant rate. */
static int tsc_open(struct db_clock *clock) {
    if (!counter_invariant())
        return -1;
    db_clock_identify(clock->identity, "tsc", 0);
    struct db_clock_pair anchor = db_clock_read_pair(clock, &reference);
    clock->data.counter.anchor_ticks = anchor.outer;
    clock->data.counter.anchor_ns = anchor.inner;
    clock->data.counter.anchor_width = anchor.width;
    /* Sleeps, because a process that has spun loses a contended processor for longer afterwards. */
    nanosleep(&(struct timespec){.tv_nsec = CALIBRATION_NS}, NULL);
    calibrate(clock);
    return 0;
}

static int64_t tsc_read(const struct db_clock *clock) {
    (void)clock;
    return counter_read();
}

static int64_t tsc_wait_until(const struct db_clock *clock, int64_t ticks) {
    int64_t poll_ticks = (int64_t)(POLL_NS / clock->ns_per_tick);
    while (counter_poll() < ticks - poll_ticks)
        relax();
    int64_t reading;
    do
        reading = counter_poll();
    while (reading < ticks);
    return reading;
}

/* Calibrates again when the baseline has doubled, since the error of the rate is inversely proportional to it. */
static void tsc_refine(struct db_clock *clock) {
    if (db_clock_read(&reference) - clock->data.counter.anchor_ns > 2 * clock->data.counter.baseline_ns)
        calibrate(clock);
}

const struct db_clock_type db_clock_tsc = {
    .component = {DB_DESCRIBED("tsc",
                               "the processor's counter, if it is invariant; calibrated against CLOCK_MONOTONIC_RAW",
                               "", DB_NO_PARAMETERS)},
    .open = tsc_open,
    .read = tsc_read,
    .wait_until = tsc_wait_until,
    .refine = tsc_refine};
