/* Validation of texts for files and terminals: UTF-8 without control characters. */
#ifndef DOWNBEAT_SHARED_UTF8_LENGTH_H
#define DOWNBEAT_SHARED_UTF8_LENGTH_H

#include <stddef.h>

/* Returns the length in bytes of the first character of a text. The text has at most `size` bytes and may end earlier
 * with a 0. Returns 0 if the text is empty, begins with a control character, or is not valid UTF-8 (RFC 3629, section
 * 4). */
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
    /* Range of the second byte. It excludes overlong forms, surrogates, code points beyond Unicode, and U+0080 to
     * U+009F, control characters that some terminals interpret. */
    unsigned min = 0x80;
    unsigned max = 0xbf;
    if (first == 0xe0 || first == 0xc2)
        min = 0xa0;
    else if (first == 0xf0)
        min = 0x90;
    else if (first == 0xed)
        max = 0x9f;
    else if (first == 0xf4)
        max = 0x8f;
    if (bytes[1] < min || bytes[1] > max)
        return 0;
    for (size_t i = 2; i < length; ++i)
        if ((bytes[i] & 0xc0U) != 0x80)
            return 0;
    return length;
}

#endif
