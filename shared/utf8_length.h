/* Texts that get into files and onto terminals: UTF-8 without control characters. */
#ifndef DOWNBEAT_SHARED_UTF8_LENGTH_H
#define DOWNBEAT_SHARED_UTF8_LENGTH_H

#include <stddef.h>

/* The bytes of the character that a text of so many bytes, or one that ends with 0, begins with; 0 if it begins with no
 * character in UTF-8 (RFC 3629, section 4), with a control character, or is empty. */
static inline size_t utf8_length(const char *text, size_t size) {
    const unsigned char *bytes = (const unsigned char *)text;
    const unsigned first = size == 0 ? 0 : bytes[0];
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f ? 1 : 0;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (size < length)
        return 0;
    /* Too long a form, a surrogate, beyond Unicode; 80 to 9f are controls, which some terminals obey. */
    const unsigned least = first == 0xe0 || first == 0xc2 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < least || bytes[1] > most)
        return 0;
    for (size_t i = 2; i < length; ++i)
        if ((bytes[i] & 0xc0U) != 0x80)
            return 0;
    return length;
}

#endif
