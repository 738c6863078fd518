/* Registries: a registry is a NULL-terminated array of pointers to structs whose first member is their name. A new
 * algorithm is one file and one line of its registry. */
#ifndef DOWNBEAT_REGISTRY_H
#define DOWNBEAT_REGISTRY_H

#include <stddef.h>

/* The entry called `name`, or NULL. */
const void *db_registry_find(const void *const *entries, const char *name);

/* Appends all names to `text`, separated by ", ". `size`: of the text's memory; a list that does not fit is cut. */
void db_registry_names(const void *const *entries, char *text, size_t size);

#endif
