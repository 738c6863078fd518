/* The protocol of a start: its phases, what a process can need process 0 for, and what follows. No I/O, no MPI.
 *
 *   RELEASED -> EXCHANGE -> WAIT -> RELEASED    no process needs process 0
 *   RELEASED -> GATHER -> DECIDE -> WAIT        the last decision left a need open
 *               EXCHANGE -> GATHER              a process has a need in this call
 *               DECIDE -> SYNCHRONIZE -> GATHER clocks first, then a deadline
 *
 * harmonize.c does what each phase says. */
#ifndef DOWNBEAT_PROTOCOL_H
#define DOWNBEAT_PROTOCOL_H

enum db_phase {
    DB_EXCHANGE,    /* all exchange entries, and compute the same deadline: the last arrival plus the slack */
    DB_GATHER,      /* all report to process 0 */
    DB_DECIDE,      /* process 0 chooses a deadline, or that clocks are synchronized first, and broadcasts it */
    DB_SYNCHRONIZE, /* clocks are synchronized */
    DB_WAIT,        /* each process waits for the deadline on its copy of the global clock */
    DB_RELEASED     /* the program runs, until its next call */
};

/* What only process 0 can do: bits, so that one word has several. Where words of processes are reduced to their
 * maximum, it is 0 only if no process needs anything. */
enum db_need {
    DB_NEED_SYNC = 1,     /* a clock is due, or was contradicted */
    DB_NEED_SLACK = 2,    /* the slack is new, or judges each call */
    DB_NEED_PATIENCE = 4, /* a process was away: how processes wait for messages may change */
    DB_NEED_ORDER = 8, /* times were out of order in the last exchange: a clock is wrong, and it is not known whose */
    DB_NEED_LINES = 16 /* processes share no memory, so there is nothing to exchange by */
};

/* The phase after `phase`. `needs`: bits of enum db_need that are open then: after RELEASED, those of the last
 * decision; after EXCHANGE, those of all processes; after DECIDE, DB_NEED_SYNC if clocks are to be synchronized first.
 */
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

/* The flag, but for whether the process leaves in time. */
struct db_verdict {
    int accepted; /* 1, whenever the process leaves */
    int refused;  /* 0, whenever it leaves, unless `accepted` */
};

/* `before_wait`: the flag only says whether the deadline was still ahead when the wait began (slack=published). `late`:
 * it was not. `unsure`: the clock is not known well enough. */
static inline struct db_verdict db_verdict_of(int before_wait, int late, int unsure) {
    return (struct db_verdict){.accepted = before_wait && !late, .refused = before_wait || late || unsure};
}

static inline int db_flag(const struct db_verdict *verdict, int in_time) {
    return verdict->accepted | (in_time & !verdict->refused);
}

#endif
