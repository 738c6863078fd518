/* Call sites. */
#ifndef DOWNBEAT_PRELOAD_SITES_H
#define DOWNBEAT_PRELOAD_SITES_H

#include <stdint.h>

/* Finds or creates the number of a call site in the file. */
uint32_t site_of(const void *address);

/* Formats a call site: module, offset, function. */
#define SITE_TEXT_SIZE 544
void site_text(char text[SITE_TEXT_SIZE], const void *address);

#endif
