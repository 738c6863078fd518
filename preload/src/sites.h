/* Call sites: the addresses from which the program calls MPI. */
#ifndef DOWNBEAT_PRELOAD_SITES_H
#define DOWNBEAT_PRELOAD_SITES_H

#include <stdint.h>

/* Finds or creates the number of a call site in the trace file; TRACE_NONE if there is no room. */
uint32_t site_of(const void *address);

/* Formats a call site for a message: module, offset, function. */
#define SITE_TEXT_SIZE 544
void site_text(char text[SITE_TEXT_SIZE], const void *address);

#endif
