/* Texts that get into files, which others must be able to read. */
#ifndef DOWNBEAT_UTF8_H
#define DOWNBEAT_UTF8_H

#include <stddef.h>

/* The bytes of the character that a text begins with; 0 if it begins with no character in UTF-8, with a control
 * character, or ends here. */
size_t db_utf8_length(const char *text);

#endif
