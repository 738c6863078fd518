/* The one idiom for registries: a NULL-ended array of pointers to entries, each a struct whose first member is its
 * name. Adding an algorithm is adding one file and one line. */
#ifndef DOWNBEAT_REGISTRY_H
#define DOWNBEAT_REGISTRY_H

#include <stddef.h>

/* The entry called `name`, or NULL. */
const void *db_registry_find(const void *const *entries, const char *name);

/* Appends all names to `text`, separated by ", ". */
void db_registry_names(const void *const *entries, char *text, size_t size);

#endif
