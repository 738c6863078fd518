/* The configurations of papers: the values of the setting `published`. Each name stands for several other settings
 * (settings.c, parse_published). */
#ifndef DOWNBEAT_PUBLISHED_H
#define DOWNBEAT_PUBLISHED_H

/* Kinds of the parameters of a configuration: a setting of this library, or an option of downbeat-bench that
 * complements the settings. */
#define DB_PUBLISHED_SETTING "setting"
#define DB_PUBLISHED_OPTION "option"

/* Registry (registry.h) of struct db_component. */
extern const void *const db_published[];

#endif
