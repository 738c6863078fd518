/* The clock that a process opens once for all of its communicators (process_clock.h). It is stored in the record of the
 * process (attribute.c). */
#include "start/process_clock.h"

#include "start/attribute.h"

int db_process_clock_open(struct db_clock *clock, const struct db_clock_type *type) {
    int code;
    struct db_process_clock *shared = db_attribute_lock_clock(&code);
    if (shared == NULL)
        return code;
    int same = shared->clock.type != NULL && (type == shared->clock_type || type == shared->clock.type);
    if (same && shared->clock.type->refine != NULL)
        shared->clock.type->refine(&shared->clock);
    if (!same && db_clock_open(clock, type) != 0) {
        code = MPI_ERR_OTHER;
    } else if (!same) {
        shared->clock = *clock;
        shared->clock_type = type;
    } else {
        *clock = shared->clock;
    }
    db_attribute_unlock_clock();
    return code;
}

int db_process_clock_set_domain(const struct db_clock *clock) {
    int code;
    struct db_process_clock *shared = db_attribute_lock_clock(&code);
    if (shared == NULL)
        return code;
    if (shared->clock.type == clock->type)
        shared->clock.domain = clock->domain;
    db_attribute_unlock_clock();
    return code;
}
