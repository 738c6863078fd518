#define _GNU_SOURCE
#include "start/attribute.h"

#include "base/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* The record of a process. It is attached to MPI_COMM_SELF, which MPI_Finalize frees first. */
struct process {
    struct db_attribute *first;
    struct db_known known;
    int told;
};

/* The library's only globals, but for a count of segments (segment.c): how to find everything else, the same for all
 * communicators and threads. They are created with the first record of a process and freed with the last; a simulator
 * may run many processes in one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int process_count;
static int process_key = MPI_KEYVAL_INVALID;
static atomic_int attribute_key = MPI_KEYVAL_INVALID;

/* The attribute that a thread found last, as long as none was attached or deleted since: MPI takes as long to find it
 * as a whole start within a node. A simulator has many processes in one thread. */
static atomic_uint changes;
static _Thread_local struct {
    MPI_Comm comm;
    unsigned change;
    struct db_attribute *attribute; /* NULL: none was found */
} last;

/* A communicator that all processes of a simulator share as one object, attributes included: its attribute is found in
 * the record of the process alone. MPI_COMM_NULL if there is none. */
static MPI_Comm shared_world(void) {
#ifdef DB_SIMULATED
    return MPI_COMM_WORLD;
#else
    return MPI_COMM_NULL;
#endif
}

/* Puts an attribute into the list of its process, or takes it out. The lock must be held. */
static void link_to(struct process *process, struct db_attribute *attribute) {
    atomic_fetch_add(&changes, 1);
    attribute->next = process->first;
    attribute->link = &process->first;
    if (attribute->next != NULL)
        attribute->next->link = &attribute->next;
    process->first = attribute;
}

static void unlink_from(struct db_attribute *attribute) {
    atomic_fetch_add(&changes, 1);
    if (attribute->link == NULL)
        return;
    *attribute->link = attribute->next;
    if (attribute->next != NULL)
        attribute->next->link = attribute->link;
}

/* Takes the whole list of a process that ends. */
static struct db_attribute *take_list(struct process *process) {
    struct db_attribute *first = process->first;
    process->first = NULL;
    for (struct db_attribute *each = first; each != NULL; each = each->next)
        each->link = NULL;
    return first;
}

/* Called when a communicator is freed. Calls nothing of MPI that could fail: it would stay in the list. */
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

static int free_keys(void) {
    int key = attribute_key;
    attribute_key = MPI_KEYVAL_INVALID;
    DB_TRY(MPI_Comm_free_keyval(&key));
    return MPI_Comm_free_keyval(&process_key);
}

#ifdef DB_SIMULATED
/* SMPI frees MPI_COMM_SELF when all calls fail already: what communicators keep ends with the program. */
static void finish_process(struct process *process) { take_list(process); }
#else
static void finish_process(struct process *process) {
    struct db_attribute *attribute = take_list(process);
    while (attribute != NULL) {
        struct db_attribute *next = attribute->next;
        MPI_Comm_delete_attr(attribute->comm, attribute_key);
        attribute = next;
    }
}
#endif

/* Called when MPI_Finalize frees MPI_COMM_SELF. */
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

/* MPI calls this code when communicators are freed, until the end: also after a plugin that is linked with the library,
 * or has it within itself, was unloaded. So the object that has this code stays. Weak: a program that is linked
 * statically has no dlopen, and needs none; one that loads plugins has it. */
#pragma weak dladdr
#pragma weak dlopen

static void stay_loaded(void) {
    Dl_info object;
    if (dladdr != NULL && dlopen != NULL && dladdr((const void *)&process_count, &object) != 0)
        dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static int create_keys(void) {
    int key;
    stay_loaded();
    DB_TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_process, &process_key, NULL));
    DB_TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL));
    attribute_key = key;
    return MPI_SUCCESS;
}

/* Finds the record of this process, or makes it. The lock must be held. */
static int find_record(struct process **process) {
    int found = 0;
    if (process_key == MPI_KEYVAL_INVALID)
        DB_TRY(create_keys());
    DB_TRY(MPI_Comm_get_attr(MPI_COMM_SELF, process_key, (void *)process, &found));
    if (found)
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

/* The record, locked; NULL, and not locked, with an error. */
static struct process *lock_record(int *code) {
    struct process *process = NULL;
    pthread_mutex_lock(&lock);
    *code = find_record(&process);
    if (*code == MPI_SUCCESS)
        return process;
    pthread_mutex_unlock(&lock);
    return NULL;
}

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

/* The attribute of a communicator that has none of MPI. */
static int find_in_record(MPI_Comm comm, struct db_attribute **attribute) {
    int code;
    const struct process *process = lock_record(&code);
    if (process == NULL)
        return code;
    for (struct db_attribute *each = process->first; each != NULL; each = each->next)
        if (each->comm == comm)
            *attribute = each;
    return unlock_record(code);
}

int db_attribute_find(MPI_Comm comm, struct db_attribute **attribute) {
    int found = 0;
    *attribute = NULL;
    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    if (attribute_key == MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    if (comm == shared_world())
        return find_in_record(comm, attribute);
    const unsigned change = atomic_load_explicit(&changes, memory_order_acquire);
    if (shared_world() == MPI_COMM_NULL && last.attribute != NULL && last.comm == comm && last.change == change) {
        *attribute = last.attribute;
        return MPI_SUCCESS;
    }
    DB_TRY(MPI_Comm_get_attr(comm, attribute_key, (void *)attribute, &found));
    if (!found)
        *attribute = NULL;
    last.comm = comm;
    last.change = change;
    last.attribute = *attribute;
    return MPI_SUCCESS;
}

int db_check_mpi(const char *function) {
    /* While an attribute is attached to a communicator, MPI is initialized, because MPI_Finalize removes all attributes
     * first. This check is free, unlike a call to MPI. */
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

int db_attribute_first_time(int what, int *first) {
    int code;
    struct process *process = lock_record(&code);
    if (process == NULL)
        return code;
    *first = (process->told & what) == 0;
    process->told |= what;
    return unlock_record(code);
}

struct db_known *db_attribute_lock_known(int *code) {
    struct process *process = lock_record(code);
    return process != NULL ? &process->known : NULL;
}

void db_attribute_unlock_known(void) { unlock_record(MPI_SUCCESS); }
