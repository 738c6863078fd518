/* Attributes of communicators. An attribute is data that is attached to a communicator; the only kind is struct
 * db_state (state.h). It is destroyed when its communicator is freed, or at the latest at the beginning of
 * MPI_Finalize, while MPI still works. This file also has other data of a process: its clock, and messages that are
 * printed once. */
#ifndef DOWNBEAT_ATTRIBUTE_H
#define DOWNBEAT_ATTRIBUTE_H

#include "clock/clock.h"

#include <mpi.h>

/* The first member of an attribute. */
struct db_attribute {
    MPI_Comm comm;
    void (*destroy)(struct db_attribute *attribute); /* frees the attribute */
    struct db_attribute *next;                       /* next in the process's list of attributes (attribute.c) */
    struct db_attribute **link; /* the pointer in the list that points to this attribute; NULL: not in the list */
};

/* Creates the record and keys that db_attribute_attach needs, to find a lack of memory early. Local. */
int db_attribute_reserve(void);

/* Attaches `attribute`, whose members `comm` and `destroy` are set, to its communicator. */
int db_attribute_attach(struct db_attribute *attribute);

/* Sets `attribute` to the attribute of comm, or NULL if it has none. Local. */
int db_attribute_find(MPI_Comm comm, struct db_attribute **attribute);

/* Returns MPI_SUCCESS between MPI_Init and MPI_Finalize; else prints a line and returns MPI_ERR_OTHER. `function` is
 * the name of the public function, for the line. */
int db_check_mpi(const char *function);

/* Sets `first` to 1 in this process's first call with `message` (one of the bits below), else to 0. */
enum { DB_FIRST_OVERSUBSCRIBED = 1, DB_FIRST_WITHOUT_MEMORY = 2 };
int db_attribute_first_time(int message, int *first);

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
