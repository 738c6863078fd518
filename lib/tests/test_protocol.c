/* The protocol of a start, by tables: which phase follows, and what the flag is. */
#include "check.h"
#include "start/protocol.h"

#define ALL_NEEDS (DB_NEED_SYNC | DB_NEED_SLACK | DB_NEED_PATIENCE | DB_NEED_ORDER | DB_NEED_LINES)

/* Without a need, with DB_NEED_SYNC, with any other. */
static const struct {
    enum db_phase phase;
    enum db_phase no_need;
    enum db_phase sync;
    enum db_phase other;
} transitions[] = {
    {DB_RELEASED, DB_EXCHANGE, DB_GATHER, DB_GATHER},  {DB_EXCHANGE, DB_WAIT, DB_GATHER, DB_GATHER},
    {DB_GATHER, DB_DECIDE, DB_DECIDE, DB_DECIDE},      {DB_DECIDE, DB_WAIT, DB_SYNCHRONIZE, DB_WAIT},
    {DB_SYNCHRONIZE, DB_GATHER, DB_GATHER, DB_GATHER}, {DB_WAIT, DB_RELEASED, DB_RELEASED, DB_RELEASED},
};
enum { PHASES = sizeof transitions / sizeof *transitions };

static void each_phase_leads_to_the_next(void) {
    int seen = 0;
    for (int i = 0; i < PHASES; ++i) {
        enum db_phase phase = transitions[i].phase;
        seen |= 1 << phase;
        CHECK_THAT(db_phase_after(phase, 0), ==, transitions[i].no_need);
        for (int needs = 1; needs <= ALL_NEEDS; ++needs)
            CHECK_THAT(db_phase_after(phase, needs), ==,
                       needs & DB_NEED_SYNC ? transitions[i].sync : transitions[i].other);
    }
    CHECK_THAT(seen, ==, (1 << PHASES) - 1);
}

/* Calls: the needs after each phase, and the phases that follow from them. */
static const struct {
    int needs[6];
    enum db_phase phases[6];
} calls[] = {
    {{0, 0}, {DB_EXCHANGE, DB_WAIT}},
    {{0, DB_NEED_ORDER, 0, 0}, {DB_EXCHANGE, DB_GATHER, DB_DECIDE, DB_WAIT}},
    {{DB_NEED_LINES, 0, 0}, {DB_GATHER, DB_DECIDE, DB_WAIT}},
    {{DB_NEED_SLACK, 0, DB_NEED_SYNC, 0, 0, 0}, {DB_GATHER, DB_DECIDE, DB_SYNCHRONIZE, DB_GATHER, DB_DECIDE, DB_WAIT}},
};

static void each_call_ends_in_a_wait(void) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        enum db_phase phase = DB_RELEASED;
        for (int step = 0; phase != DB_WAIT; ++step) {
            phase = db_phase_after(phase, calls[i].needs[step]);
            CHECK_THAT(phase, ==, calls[i].phases[step]);
        }
    }
}

static const struct {
    int before_wait;
    int late; /* ready after the deadline */
    int unsure;
    int flag_in_time;
    int flag_late;
} flags[] = {
    {0, 0, 0, 1, 0}, {0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 1, 1, 0, 0},
    {1, 0, 0, 1, 1}, {1, 1, 0, 0, 0}, {1, 0, 1, 1, 1}, {1, 1, 1, 0, 0},
};

static void each_flag_has_its_reasons(void) {
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
        struct db_verdict verdict = db_verdict_of(flags[i].before_wait, flags[i].late, flags[i].unsure);
        CHECK_THAT(db_flag(&verdict, 1), ==, flags[i].flag_in_time);
        CHECK_THAT(db_flag(&verdict, 0), ==, flags[i].flag_late);
    }
}

int main(void) {
    each_phase_leads_to_the_next();
    each_call_ends_in_a_wait();
    each_flag_has_its_reasons();
    return 0;
}
