/* The configurations of the papers, whole, each under one name. */
#ifndef DOWNBEAT_PUBLISHED_H
#define DOWNBEAT_PUBLISHED_H

/* Kinds of their parameters: a setting of this library, an option of downbeat-bench that completes it. */
#define DB_PUBLISHED_SETTING "setting"
#define DB_PUBLISHED_OPTION "option"

/* Registry (registry.h) of struct db_component. */
extern const void *const db_published[];

#endif
