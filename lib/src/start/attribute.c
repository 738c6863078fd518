/* Attributes of communicators (attribute.h), found by MPI's attribute functions. Each process has a record of its
 * attributes, so that MPI_Finalize frees them all. */
#define _GNU_SOURCE
#include "start/attribute.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* The record of a process, attached to MPI_COMM_SELF, which MPI_Finalize frees first. */
struct process {
    struct db_attribute *first;    /* list of attributes */
    struct db_process_clock clock; /* the clock that this process opened last */
    int printed;                   /* bits of printed messages (DB_FIRST_...) */
};

/* The library's only globals, except a count of segments (segment.c): the keys by which MPI finds all other data. They
 * are created with the first record and freed with the last; a simulator may run many processes in one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int process_count; /* number of records; more than 1 only in a simulator */
static int process_key = MPI_KEYVAL_INVALID;
static atomic_int attribute_key = MPI_KEYVAL_INVALID;

/* Cache of the thread's last lookup, valid until an attribute is attached or deleted: a lookup in MPI takes as long as
 * a start within a node. Not used by a simulator, which has many processes in one thread. */
static atomic_uint changes; /* counts attributes attached or deleted */
static _Thread_local struct {
    MPI_Comm comm;
    unsigned change;
    struct db_attribute *attribute; /* NULL: nothing cached */
} last_lookup;

/* Returns the communicator that all processes of a simulator share as one object, with its attributes: MPI_COMM_WORLD.
 * Its attribute is only in the list of each process. MPI_COMM_NULL without a simulator. */
static MPI_Comm shared_world(void) {
#ifdef DB_SIMULATED
    return MPI_COMM_WORLD;
#else
    return MPI_COMM_NULL;
#endif
}

/* Inserts an attribute into the list of its process, or removes it. The caller holds the lock. */
static void link_to(struct process *process, struct db_attribute *attribute) {
    atomic_fetch_add(&changes, 1);
    attribute->next = process->first;
    attribute->link = &process->first;
    if (attribute->next != NULL)
        attribute->next->link = &attribute->next;
    process->first = attribute;
}

/* Removes an attribute from its list, if it is in one. */
static void unlink_from(struct db_attribute *attribute) {
    atomic_fetch_add(&changes, 1);
    if (attribute->link == NULL)
        return;
    *attribute->link = attribute->next;
    if (attribute->next != NULL)
        attribute->next->link = attribute->link;
}

/* Empties the list of a process that ends, and returns its first element. */
static struct db_attribute *take_list(struct process *process) {
    struct db_attribute *first = process->first;
    process->first = NULL;
    for (struct db_attribute *attribute = first; attribute != NULL; attribute = attribute->next)
        attribute->link = NULL;
    return first;
}

/* Called by MPI when a communicator is freed. Makes no MPI call that could fail, which would leave the attribute in the
 * list. */
static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    struct db_attribute *attribute = value;
    pthread_mutex_lock(&lock);
    unlink_from(attribute);
    pthread_mutex_unlock(&lock);
    attribute->destroy(attribute);
    return MPI_SUCCESS;
}

/* Frees the keys, when MPI_Finalize deletes the process's attribute. */
static int free_keys(void) {
    int key = attribute_key;
    attribute_key = MPI_KEYVAL_INVALID;
    DB_TRY(MPI_Comm_free_keyval(&key));
    return MPI_Comm_free_keyval(&process_key);
}

#ifdef DB_SIMULATED
/* SMPI frees MPI_COMM_SELF only after MPI calls have stopped working, so the attributes are not freed. */
static void finish_process(struct process *process) { take_list(process); }
#else
/* Deletes the attributes of all communicators of a process, which destroys them. */
static void finish_process(struct process *process) {
    struct db_attribute *attribute = take_list(process);
    while (attribute != NULL) {
        struct db_attribute *next = attribute->next;
        MPI_Comm_delete_attr(attribute->comm, attribute_key);
        attribute = next;
    }
}
#endif

/* Called by MPI when MPI_Finalize frees MPI_COMM_SELF. */
static int delete_process(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    struct process *process = value;
    finish_process(process);
    free(process);
    pthread_mutex_lock(&lock);
    int code = --process_count == 0 ? free_keys() : MPI_SUCCESS;
    pthread_mutex_unlock(&lock);
    return code;
}

/* MPI calls this code whenever a communicator is freed, also after a plugin that contains the library, or is linked
 * with it, was unloaded. So the shared object of this code is never unloaded (RTLD_NODELETE). Weak: a statically linked
 * program has no dlopen and needs none. */
#pragma weak dladdr
#pragma weak dlopen

static void stay_loaded(void) {
    Dl_info object;
    if (dladdr != NULL && dlopen != NULL && dladdr((const void *)&process_count, &object) != 0)
        dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Creates the keys, in the first call of a process. */
static int create_keys(void) {
    int key;
    stay_loaded();
    DB_TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_process, &process_key, NULL));
    DB_TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL));
    attribute_key = key;
    return MPI_SUCCESS;
}

/* Finds or creates the record of this process. The caller holds the lock. */
static int find_record(struct process **process) {
    int exists = 0;
    if (process_key == MPI_KEYVAL_INVALID)
        DB_TRY(create_keys());
    DB_TRY(MPI_Comm_get_attr(MPI_COMM_SELF, process_key, (void *)process, &exists));
    if (exists)
        return MPI_SUCCESS;
    *process = calloc(1, sizeof **process);
    if (*process == NULL)
        return MPI_ERR_NO_MEM;
    int code = MPI_Comm_set_attr(MPI_COMM_SELF, process_key, *process);
    if (code == MPI_SUCCESS)
        ++process_count;
    else
        free(*process);
    return code;
}

/* Locks and returns the record; NULL, and not locked, on error. */
static struct process *lock_record(int *code) {
    struct process *process = NULL;
    pthread_mutex_lock(&lock);
    *code = find_record(&process);
    if (*code == MPI_SUCCESS)
        return process;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Unlocks the record of the process, and returns `code` for the caller to return. */
static int unlock_record(int code) {
    pthread_mutex_unlock(&lock);
    return code;
}

int db_attribute_reserve(void) {
    int code;
    return lock_record(&code) != NULL ? unlock_record(code) : code;
}

int db_attribute_attach(struct db_attribute *attribute) {
    int code;
    struct process *process = lock_record(&code);
    if (process == NULL)
        return code;
    if (attribute->comm != shared_world())
        code = MPI_Comm_set_attr(attribute->comm, attribute_key, attribute);
    if (code == MPI_SUCCESS)
        link_to(process, attribute);
    return unlock_record(code);
}

/* Searches the process's list for the attribute of a communicator; for shared_world(). */
static int find_in_record(MPI_Comm comm, struct db_attribute **attribute) {
    int code;
    const struct process *process = lock_record(&code);
    if (process == NULL)
        return code;
    for (struct db_attribute *entry = process->first; entry != NULL; entry = entry->next)
        if (entry->comm == comm)
            *attribute = entry;
    return unlock_record(code);
}

int db_attribute_find(MPI_Comm comm, struct db_attribute **attribute) {
    int exists = 0;
    *attribute = NULL;
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    if (attribute_key == MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    if (comm == shared_world())
        return find_in_record(comm, attribute);
    const unsigned change = atomic_load_explicit(&changes, memory_order_acquire);
    if (shared_world() == MPI_COMM_NULL && last_lookup.attribute != NULL && last_lookup.comm == comm &&
        last_lookup.change == change) {
        *attribute = last_lookup.attribute;
        return MPI_SUCCESS;
    }
    DB_TRY(MPI_Comm_get_attr(comm, attribute_key, (void *)attribute, &exists));
    if (!exists)
        *attribute = NULL;
    last_lookup.comm = comm;
    last_lookup.change = change;
    last_lookup.attribute = *attribute;
    return MPI_SUCCESS;
}

int db_check_mpi(const char *function) {
    /* While there are attributes, MPI is initialized, because MPI_Finalize removes them first. This check is free,
     * unlike a call to MPI. */
    if (attribute_key != MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    int initialized;
    int finalized;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized)
        return MPI_SUCCESS;
    struct db_reason reason;
    db_explain(&reason, MPI_ERR_OTHER, "%s was called %s; call it between MPI_Init and MPI_Finalize", function,
               initialized ? "after MPI_Finalize" : "before MPI_Init");
    db_print(reason.text);
    return MPI_ERR_OTHER;
}

int db_attribute_first_time(int message, int *first) {
    int code;
    struct process *process = lock_record(&code);
    if (process == NULL)
        return code;
    *first = (process->printed & message) == 0;
    process->printed |= message;
    return unlock_record(code);
}

struct db_process_clock *db_attribute_lock_clock(int *code) {
    struct process *process = lock_record(code);
    return process != NULL ? &process->clock : NULL;
}

void db_attribute_unlock_clock(void) { unlock_record(MPI_SUCCESS); }
