/* Identities of clocks: source of the clock, boot of the host and time namespace as one text, e.g.
 * "monotonic@<boot id>/time:[4026531834]" (db_clock_identify in clock.h). */
#define _POSIX_C_SOURCE 200809L
#include "clock/clock.h"

#include <stdio.h>
#include <unistd.h>

void db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced) {
    char boot[64] = "";
    char space[64] = "";
    identity[0] = '\0';

    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file == NULL)
        return;
    if (fscanf(file, "%63s", boot) != 1)
        boot[0] = '\0';
    fclose(file);
    if (boot[0] == '\0')
        return;

    /* A kernel without time namespaces (before Linux 5.6) has no such link; all its processes share the clock. */
    if (namespaced) {
        ssize_t length = readlink("/proc/self/ns/time", space, sizeof space - 1);
        space[length > 0 ? length : 0] = '\0';
    }
    snprintf(identity, DB_IDENTITY_SIZE, "%s@%.40s/%.30s", source, boot, space);
}
