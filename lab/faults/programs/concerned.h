/* Which processes a fault concerns that is preloaded: process FAULT_RANK, or all. */
#ifndef DOWNBEAT_FAULTS_CONCERNED_H
#define DOWNBEAT_FAULTS_CONCERNED_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool concerned(void) {
    const char *wanted = getenv("FAULT_RANK");
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; wanted != NULL && i < sizeof names / sizeof *names; ++i)
        if (getenv(names[i]) != NULL)
            return atoi(getenv(names[i])) == atoi(wanted);
    return wanted == NULL;
}

#endif
