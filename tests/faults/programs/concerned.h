/* Which processes a preloaded fault concerns: rank FAULT_RANK, or all; launchers, which have no rank, if it says so. */
#ifndef DOWNBEAT_FAULTS_CONCERNED_H
#define DOWNBEAT_FAULTS_CONCERNED_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool concerned(bool launchers) {
    const char *wanted = getenv("FAULT_RANK");
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (getenv(names[i]) != NULL)
            return wanted == NULL || atoi(getenv(names[i])) == atoi(wanted);
    return launchers && wanted == NULL;
}

#endif
