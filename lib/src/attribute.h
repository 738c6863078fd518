/* What hangs on communicators: attached once, found by the communicator, destroyed with it, or at the latest at the
 * beginning of MPI_Finalize, while MPI still works. */
#ifndef DOWNBEAT_ATTRIBUTE_H
#define DOWNBEAT_ATTRIBUTE_H

#include <mpi.h>

/* The first member of what is attached. */
struct db_attribute {
    MPI_Comm comm;
    /* Begins what destroy completes together with other processes. Must not wait: in MPI_Finalize all attributes are
     * concluded before the first is destroyed, for threads may have attached them in another order elsewhere. */
    void (*conclude)(struct db_attribute *attribute);
    void (*destroy)(struct db_attribute *attribute);
    struct db_attribute *next; /* of this process's attributes; see attribute.c */
};

/* Hangs `attribute`, with all but next set, on its communicator. */
int db_attribute_attach(struct db_attribute *attribute);

/* The attribute of comm, or NULL. Local. */
int db_attribute_find(MPI_Comm comm, struct db_attribute **attribute);

/* MPI_ERR_OTHER, after a line on standard error, unless MPI is initialized and not finalized. `function` is the
 * caller's. */
int db_check_mpi(const char *function);

/* Sets `first` to 1 at the first call in this process, else to 0: for what is to be said once. */
int db_attribute_first_time(int *first);

/* What a process keeps beyond its communicators: `finish` is called once, in MPI_Finalize, when all attributes are
 * destroyed and MPI still works. */
struct db_kept {
    void (*finish)(struct db_kept *kept);
};

/* The one thing that this process keeps; `make` makes it at the first call, and returns NULL when out of memory. */
int db_attribute_keep(struct db_kept *(*make)(void), struct db_kept **kept);

#endif
