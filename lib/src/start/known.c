#include "start/known.h"

#include "base/error.h"
#include "start/attribute.h"

struct question {
    struct db_clock *clock;
    const struct db_clock_type *type;
    int missing;
};

static void find_clock(struct db_known *known, void *argument) {
    struct question *question = argument;
    int same = question->type == known->clock_type || question->type == known->clock.type;
    if (known->clock.type == NULL || !same) {
        question->missing = db_clock_open(question->clock, question->type) != 0;
        if (question->missing)
            return;
        known->clock = *question->clock;
        known->clock_type = question->type;
    } else if (known->clock.type->refine != NULL) {
        known->clock.type->refine(&known->clock);
    }
    *question->clock = known->clock;
}

int db_known_clock(struct db_clock *clock, const struct db_clock_type *type) {
    struct question question = {.clock = clock, .type = type};
    DB_TRY(db_attribute_visit_known(find_clock, &question));
    return question.missing ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void keep_domain(struct db_known *known, void *argument) {
    const struct db_clock *clock = argument;
    if (known->clock.type == clock->type)
        known->clock.domain = clock->domain;
}

int db_known_keep_domain(const struct db_clock *clock) {
    struct db_clock copy = *clock;
    return db_attribute_visit_known(keep_domain, &copy);
}
