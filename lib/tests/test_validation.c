/* The validation clock follows its settings: offset, skew and wander as given, the same for a seed. Without MPI. */
#include "check.h"
#include "clock/clock.h"
#include "clock/validation.h"
#include "split_mix.h"

#include <math.h>
#include <string.h>

static struct db_clock open_one(const char *text, int rank) {
    struct db_validation validation;
    struct db_clock clock;
    CHECK(db_validation_parse(&validation, text) == NULL);
    CHECK(db_clock_open(&clock, &db_clock_monotonic) == 0);
    CHECK(db_validation_wrap(&clock, &validation, rank, 1000, 1.0) == 0);
    return clock;
}

static double error_at(const struct db_clock *clock, double true_ns) {
    return db_validation_at(clock, 1000 + (int64_t)true_ns) - true_ns;
}

static void offset_and_skew(void) {
    double widest = 0.0;
    for (int rank = 0; rank < 200; ++rank) {
        struct db_clock clock = open_one("offset=1e-3,skew=20e-6", rank);
        double at_start = error_at(&clock, 0.0);
        double rate = (error_at(&clock, 1e9) - at_start) / 1e9;
        CHECK_THAT(fabs(at_start), <=, 1e6);
        CHECK_THAT(fabs(rate), <=, 20e-6);
        CHECK_THAT(fabs((error_at(&clock, 1e11) - at_start) / 1e11 - rate), <, 1e-12);
        widest = fmax(widest, fabs(at_start));
        db_clock_close(&clock);
    }
    CHECK_THAT(widest, >, 0.9e6); /* the whole range is drawn from */
}

static void wander_is_bounded_and_there(void) {
    struct db_clock clock = open_one("wander=1e-6", 3);
    double fastest = 0.0;
    for (double t = 0.0; t < 60e9; t += 1e7)
        fastest = fmax(fastest, fabs(error_at(&clock, t + 1e7) - error_at(&clock, t)) / 1e7);
    CHECK_THAT(fastest, <=, 1e-6 * (1 + 1e-3));
    CHECK_THAT(fastest, >, 0.3e-6);
    db_clock_close(&clock);
}

static void seeds_and_groups(void) {
    struct db_clock a = open_one("offset=1e-3,seed=5,ranks_per_clock=2", 0);
    struct db_clock b = open_one("offset=1e-3,seed=5,ranks_per_clock=2", 1);
    struct db_clock c = open_one("offset=1e-3,seed=5,ranks_per_clock=2", 2);
    struct db_clock d = open_one("offset=1e-3,seed=6,ranks_per_clock=2", 0);
    struct db_clock e = open_one("offset=1e-3,seed=5,false_claim=1", 2);
    struct db_clock f = open_one("offset=1e-3,seed=5,false_claim=1", 0);
    CHECK_THAT(error_at(&a, 0), ==, error_at(&b, 0));
    CHECK_THAT(error_at(&a, 0), !=, error_at(&c, 0));
    CHECK_THAT(error_at(&a, 0), !=, error_at(&d, 0));
    CHECK(strcmp(a.identity, b.identity) == 0 && strcmp(a.identity, c.identity) != 0);
    CHECK(strcmp(e.identity, f.identity) == 0 && error_at(&e, 0) != error_at(&f, 0));
    struct db_clock *const all[] = {&a, &b, &c, &d, &e, &f};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        db_clock_close(all[i]);
}

/* A clock that shows what it is set to, and whose waits end on time. */
static int64_t shown;
static int waits;

static int64_t read_shown(const struct db_clock *clock) {
    (void)clock;
    return shown;
}

static int64_t wait_for(const struct db_clock *clock, int64_t ticks) {
    (void)clock;
    CHECK_THAT(ticks, >, shown);
    ++waits;
    return shown = ticks;
}

/* However far ahead: a wait comes neither early nor late, and is not many short ones. */
static void waits_end_on_its_own_time(void) {
    static const struct db_clock_type exact = {.read = read_shown, .wait_until = wait_for};
    const char *const texts[] = {"offset=0", "offset=10,skew=0.1", "wander=0.1", "skew=1e-3,wander=1e-6"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        /* A tick of the first one is its own; what the others show passes over no number. */
        const struct db_clock inner = {.type = &exact, .ns_per_tick = i == 0 ? 1.0 : 0.5};
        for (int rank = 0; rank < 10; ++rank) {
            struct db_clock clock = inner;
            struct db_validation validation;
            CHECK(db_validation_parse(&validation, texts[i]) == NULL);
            CHECK(db_validation_wrap(&clock, &validation, rank, 1000, inner.ns_per_tick) == 0);
            shown = 1000;
            for (int64_t ahead = 1; ahead <= 10000000000; ahead *= 10) {
                int64_t target = db_clock_read(&clock) + ahead;
                waits = 0;
                CHECK_THAT(clock.type->wait_until(&clock, target), ==, target);
                CHECK_THAT(waits, <=, 20);
            }
            /* A wait for now or for the past returns at once. */
            waits = 0;
            int64_t now = db_clock_read(&clock);
            CHECK_THAT(clock.type->wait_until(&clock, now), ==, now);
            CHECK_THAT(clock.type->wait_until(&clock, now - 1), ==, now);
            CHECK_THAT(waits, ==, 0);
            db_clock_close(&clock);
        }
    }
}

/* The first numbers of the paper's generator, for the seeds 0 and 1234567. */
static void the_same_numbers_on_every_machine(void) {
    uint64_t zero = 0;
    CHECK(db_split_mix(&zero) == 0xe220a8397b1dcdafU);
    CHECK(db_split_mix(&zero) == 0x6e789e6aa1b965f4U);
    CHECK(db_split_mix(&zero) == 0x06c45d188009454fU);
    uint64_t other = 1234567;
    CHECK(db_split_mix(&other) == 6457827717110365317U);
    CHECK(db_split_mix(&other) == 3203168211198807973U);
    CHECK(db_split_mix(&other) == 9817491932198370423U);
}

static void text(void) {
    struct db_validation validation;
    char formatted[256];
    /* No list; unknown or without a value; just beyond each end of a range; whole numbers that are not. */
    static const char *const bad[][3] = {
        {"", "on", "offset=1,"},
        {"offset", "offset=", "offset=nan"},
        {"ofset=1e-3", "offset=1e-3;skew=0", "skew=0.10001"},
        {"offset=-1", "offset=1.000001e6", "wander=0.10001"},
        {"seed=-1", "seed=9007199254740994", "seed=1.5"},
        {"ranks_per_clock=0", "ranks_per_clock=1000000001", "ranks_per_clock=1.5"},
        {"false_claim=-1", "false_claim=2", "false_claim=0.5"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        for (int k = 0; k < 3; ++k)
            CHECK(db_validation_parse(&validation, bad[i][k]) != NULL);
    CHECK(db_validation_parse(&validation, "off") == NULL && !validation.enabled);
    /* Both ends of every range. */
    CHECK(db_validation_parse(&validation, "offset=0,skew=0,wander=0,seed=0,ranks_per_clock=1,false_claim=0") == NULL);
    CHECK(db_validation_parse(&validation, "offset=1e6,skew=0.1,wander=0.1,seed=9007199254740992,ranks_per_clock=1e9,"
                                           "false_claim=1") == NULL);
    CHECK(validation.offset == 1e6 && validation.skew == 0.1 && validation.wander == 0.1 &&
          validation.seed == (uint64_t)1 << 53 && validation.ranks_per_clock == 1000000000 &&
          validation.false_claim == 1);
    CHECK(db_validation_parse(&validation, "offset=1e-3,skew=2e-5,wander=1e-6,seed=7,ranks_per_clock=4") == NULL);
    db_validation_format(&validation, formatted, sizeof formatted);
    struct db_validation again;
    CHECK(db_validation_parse(&again, formatted) == NULL);
    CHECK(again.enabled && again.offset == 1e-3 && again.skew == 2e-5 && again.wander == 1e-6 && again.seed == 7 &&
          again.ranks_per_clock == 4 && again.false_claim == 0);
}

int main(void) {
    offset_and_skew();
    wander_is_bounded_and_there();
    seeds_and_groups();
    waits_end_on_its_own_time();
    the_same_numbers_on_every_machine();
    text();
    return 0;
}
