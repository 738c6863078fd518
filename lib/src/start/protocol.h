/* The protocol of a start (a call of MPIX_Harmonize): its phases, its transitions, and the needs: reasons why process 0
 * must decide. This file makes no MPI call.
 *
 *   RELEASED -> EXCHANGE -> WAIT -> RELEASED    no process needs process 0
 *   RELEASED -> GATHER -> DECIDE -> WAIT        the last decision left a need open
 *               EXCHANGE -> GATHER              a process has a need in this call
 *               DECIDE -> SYNCHRONIZE -> GATHER clocks first, then a deadline
 *
 * harmonize.c implements the phases. */
#ifndef DOWNBEAT_PROTOCOL_H
#define DOWNBEAT_PROTOCOL_H

enum db_phase {
    DB_EXCHANGE,    /* all processes exchange entries and compute the same deadline: the last arrival plus the slack */
    DB_GATHER,      /* all processes report to process 0 */
    DB_DECIDE,      /* process 0 broadcasts a deadline, or the decision to synchronize clocks first */
    DB_SYNCHRONIZE, /* clocks are synchronized */
    DB_WAIT,        /* each process waits for the deadline on its copy of the global clock */
    DB_RELEASED     /* the program runs, until its next call */
};

/* Reasons why process 0 must decide, as bits of a word. Processes compute the maximum of their words: it is 0 only if
 * no process has a need. A maximum other than 0 has no meaning bit by bit. */
enum db_need {
    DB_NEED_SYNC = 1,     /* a synchronization is due, or a clock was contradicted */
    DB_NEED_SLACK = 2,    /* the slack controller is new, or judges each call (slack=published) */
    DB_NEED_PATIENCE = 4, /* a process was descheduled, so the patience may change */
    DB_NEED_ORDER = 8,    /* times were out of order in the last exchange: some clock is wrong */
    DB_NEED_LINES = 16    /* the transport is messages, which cannot exchange entries */
};

/* Returns the phase after `phase`. `needs` is: after RELEASED, the needs that the last decision left open; after
 * EXCHANGE, the maximum of all processes' needs; after DECIDE, DB_NEED_SYNC if clocks are to be synchronized first. */
static inline enum db_phase db_phase_after(enum db_phase phase, int needs) {
    switch (phase) {
    case DB_RELEASED:
        return needs ? DB_GATHER : DB_EXCHANGE;
    case DB_EXCHANGE:
        return needs ? DB_GATHER : DB_WAIT;
    case DB_GATHER:
        return DB_DECIDE;
    case DB_DECIDE:
        return needs & DB_NEED_SYNC ? DB_SYNCHRONIZE : DB_WAIT;
    case DB_SYNCHRONIZE:
        return DB_GATHER;
    case DB_WAIT:
        break;
    }
    return DB_RELEASED;
}

/* The flag as far as it is known before the wait. */
struct db_verdict {
    int accepted; /* 1: the flag is 1, even if the process leaves late */
    int refused;  /* 1: the flag is 0 unless `accepted` is 1, even if the process leaves in time */
};

/* Computes the verdict. before_wait = 1: the flag depends only on `late` (slack=published). late = 1: the deadline had
 * passed when the wait began. unsure = 1: the clock's expected error is too large, or the clock was contradicted. */
static inline struct db_verdict db_verdict_of(int before_wait, int late, int unsure) {
    return (struct db_verdict){.accepted = before_wait && !late, .refused = before_wait || late || unsure};
}

/* The flag after the wait. in_time = 1: the process left within the tolerance. Without branches, since it runs after
 * the deadline. */
static inline int db_flag(const struct db_verdict *verdict, int in_time) {
    return verdict->accepted | (in_time & !verdict->refused);
}

#endif
