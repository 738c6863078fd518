/* Data attached to communicators: attached once, found by the communicator, and destroyed with it, or at the latest at
 * the beginning of MPI_Finalize, while MPI still works. */
#ifndef DOWNBEAT_ATTRIBUTE_H
#define DOWNBEAT_ATTRIBUTE_H

#include "clock/clock.h"

#include <mpi.h>

/* The first member of attached data. */
struct db_attribute {
    MPI_Comm comm;
    void (*destroy)(struct db_attribute *attribute);
    struct db_attribute *next;  /* of this process's attributes; see attribute.c */
    struct db_attribute **link; /* what points here; NULL: nothing */
};

/* Makes whatever db_attribute_attach needs memory for. Local. */
int db_attribute_reserve(void);

/* Attaches `attribute`, with every member but the last two set, to its communicator. */
int db_attribute_attach(struct db_attribute *attribute);

/* The attribute of comm, or NULL. Local. */
int db_attribute_find(MPI_Comm comm, struct db_attribute **attribute);

/* MPI_ERR_OTHER, after a line on standard error, unless MPI is initialized and not finalized. `function` is the
 * caller's. */
int db_check_mpi(const char *function);

/* Sets `first` to 1 at the first call in this process with that, else to 0: for messages that are printed once. */
enum { DB_FIRST_OVERSUBSCRIBED = 1, DB_FIRST_WITHOUT_MEMORY = 2 };
int db_attribute_first_time(int what, int *first);

/* The clock that this process opened last, for all of its communicators; zeroed at first. known.c writes it. */
struct db_known {
    struct db_clock clock;                  /* without a type: none yet */
    const struct db_clock_type *clock_type; /* the requested type; NULL: the default */
};

/* Locks this process's db_known for the calling thread; NULL, and nothing locked, on error. */
struct db_known *db_attribute_lock_known(int *code);
void db_attribute_unlock_known(void);

#endif
