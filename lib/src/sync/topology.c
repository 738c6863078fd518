/* Location of processors in a node, from Linux's /sys (db_location_of in levels.h). */
#define _GNU_SOURCE
#include "sync/levels.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 256

/* Parses the number at the beginning of a text. Returns 0 if there is no number, or if it is negative, which means
 * unknown. */
static int number(const char *text) {
    long value = strtol(text, NULL, 10);
    return value > 0 && value <= INT_MAX ? (int)value : 0;
}

/* The number of a processor's socket, as Linux reports it below `tree`; 0 if that is unknown. */
static int read_socket(const char *tree, int processor) {
    char path[PATH_SIZE];
    char line[32] = "";
    snprintf(path, sizeof path, "%s/cpu%d/topology/physical_package_id", tree, processor);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    int socket = fgets(line, sizeof line, file) != NULL ? number(line) : 0;
    fclose(file);
    return socket;
}

/* A processor's folder has a link node<N> to its NUMA domain. */
static int read_numa(const char *tree, int processor) {
    char path[PATH_SIZE];
    int numa = 0;
    snprintf(path, sizeof path, "%s/cpu%d", tree, processor);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (strncmp(entry->d_name, "node", 4) == 0)
            numa = number(entry->d_name + 4);
    closedir(folder);
    return numa;
}

struct db_location db_location_of(const char *tree, int processor) {
    return (struct db_location){.socket = read_socket(tree, processor), .numa = read_numa(tree, processor)};
}

struct db_location db_location_here(void) {
    int processor = sched_getcpu();
    return db_location_of("/sys/devices/system/cpu", processor < 0 ? 0 : processor);
}
