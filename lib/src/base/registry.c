/* Search in registries, and lists of their names (registry.h). */
#include "base/registry.h"

#include <string.h>

static const char *name_of(const void *entry) { return *(const char *const *)entry; }

const void *db_registry_find(const void *const *entries, const char *name) {
    for (; *entries != NULL; ++entries)
        if (strcmp(name_of(*entries), name) == 0)
            return *entries;
    return NULL;
}

void db_registry_names(const void *const *entries, char *text, size_t size) {
    for (const void *const *entry = entries; *entry != NULL; ++entry) {
        if (entry != entries)
            strncat(text, ", ", size - strlen(text) - 1);
        strncat(text, name_of(*entry), size - strlen(text) - 1);
    }
}
