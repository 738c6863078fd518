/* Call sites. */
#ifndef DOWNBEAT_PRELOAD_SITES_H
#define DOWNBEAT_PRELOAD_SITES_H

#include <stdint.h>

/* The number of a call site in the file. */
uint32_t site_of(const void *address);

/* A call site in words: module, offset, function. */
#define SITE_TEXT_SIZE 544
void site_text(char text[SITE_TEXT_SIZE], const void *address);

#endif
