#include "start/known.h"

#include "start/attribute.h"

int db_known_clock(struct db_clock *clock, const struct db_clock_type *type) {
    int code;
    struct db_known *known = db_attribute_lock_known(&code);
    if (known == NULL)
        return code;
    int same = known->clock.type != NULL && (type == known->clock_type || type == known->clock.type);
    if (same && known->clock.type->refine != NULL)
        known->clock.type->refine(&known->clock);
    if (!same && db_clock_open(clock, type) != 0) {
        code = MPI_ERR_OTHER;
    } else if (!same) {
        known->clock = *clock;
        known->clock_type = type;
    } else {
        *clock = known->clock;
    }
    db_attribute_unlock_known();
    return code;
}

int db_known_keep_domain(const struct db_clock *clock) {
    int code;
    struct db_known *known = db_attribute_lock_known(&code);
    if (known == NULL)
        return code;
    if (known->clock.type == clock->type)
        known->clock.domain = clock->domain;
    db_attribute_unlock_known();
    return code;
}
