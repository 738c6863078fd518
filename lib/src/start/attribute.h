/* Attributes of communicators. An attribute is attached once, found by its communicator, and destroyed with it, or at
 * the latest at the beginning of MPI_Finalize, while MPI still works. */
#ifndef DOWNBEAT_ATTRIBUTE_H
#define DOWNBEAT_ATTRIBUTE_H

#include "clock/clock.h"

#include <mpi.h>

/* The first member of an attribute. */
struct db_attribute {
    MPI_Comm comm;
    void (*destroy)(struct db_attribute *attribute);
    struct db_attribute *next;  /* next in the process's list of attributes (attribute.c) */
    struct db_attribute **link; /* the pointer to this one in the list; NULL: not in the list */
};

/* Allocates what db_attribute_attach needs. Local. */
int db_attribute_reserve(void);

/* Attaches `attribute`, whose members `comm` and `destroy` are set, to its communicator. */
int db_attribute_attach(struct db_attribute *attribute);

/* The attribute of comm, or NULL. Local. */
int db_attribute_find(MPI_Comm comm, struct db_attribute **attribute);

/* MPI_SUCCESS between MPI_Init and MPI_Finalize; else prints a line and returns MPI_ERR_OTHER. `function`: name of the
 * public function. */
int db_check_mpi(const char *function);

/* Sets `first` to 1 in this process's first call with `what`, else to 0; for messages that are printed once. */
enum { DB_FIRST_OVERSUBSCRIBED = 1, DB_FIRST_WITHOUT_MEMORY = 2 };
int db_attribute_first_time(int what, int *first);

/* The clock that this process opened last, for all of its communicators; initially zeroed. Written by process_clock.c.
 */
struct db_process_clock {
    struct db_clock clock;                  /* its type is NULL before the first one is opened */
    const struct db_clock_type *clock_type; /* the requested type; NULL: the default */
};

/* Locks this process's db_process_clock for the calling thread; NULL, and nothing locked, on error. */
struct db_process_clock *db_attribute_lock_clock(int *code);
void db_attribute_unlock_clock(void);

#endif
