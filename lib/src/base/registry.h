/* Registries: a registry is a NULL-terminated array of pointers to structs whose first member is their name. A new
 * algorithm needs one file and one line in its registry. */
#ifndef DOWNBEAT_REGISTRY_H
#define DOWNBEAT_REGISTRY_H

#include <stddef.h>

/* Returns the entry called `name`, or NULL. */
const void *db_registry_find(const void *const *entries, const char *name);

/* Appends all names to `text`, separated by ", ". `size` is the size of the memory of `text`, bytes; a longer list is
 * cut. */
void db_registry_names(const void *const *entries, char *text, size_t size);

#endif
