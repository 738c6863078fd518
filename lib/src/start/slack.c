/* The registry of slack controllers, and calls of the selected controller's functions (slack.h). */
#include "start/slack.h"

#include <string.h>

const void *const db_slack_types[] = {&db_slack_auto, &db_slack_published, NULL};

void db_slack_init(struct db_slack *slack, const struct db_slack_type *type, int64_t fixed_ns) {
    memset(slack, 0, sizeof *slack);
    slack->type = type;
    if (type == &db_slack_fixed)
        slack->fixed_ns = fixed_ns;
}

int db_slack_judge(struct db_slack *slack, int missed) {
    return slack->type->judge != NULL && slack->type->judge(slack, missed);
}

int64_t db_slack_next(const struct db_slack *slack) { return slack->type->next(slack); }

void db_slack_observe(struct db_slack *slack, const struct db_slack_call *call) {
    if (slack->type->observe != NULL)
        slack->type->observe(slack, call);
}

void db_slack_adapt(struct db_slack *slack) {
    if (slack->type->adapt != NULL)
        slack->type->adapt(slack);
}
