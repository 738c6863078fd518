/* The configurations of the papers; each has one name. */
#ifndef DOWNBEAT_PUBLISHED_H
#define DOWNBEAT_PUBLISHED_H

/* Kinds of their parameters: a setting of this library, and an option of downbeat-bench that complements it. */
#define DB_PUBLISHED_SETTING "setting"
#define DB_PUBLISHED_OPTION "option"

/* Registry (registry.h) of struct db_component. */
extern const void *const db_published[];

#endif
