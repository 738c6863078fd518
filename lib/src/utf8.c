#include "utf8.h"

/* RFC 3629, section 4. */
size_t db_utf8_length(const char *text) {
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned first = bytes[0];
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f ? 1 : 0;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    /* Too long a form, a surrogate, beyond Unicode; 80 to 9f are controls. */
    unsigned least = first == 0xe0 || first == 0xc2 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < least || bytes[1] > most)
        return 0;
    for (size_t i = 2; i < length; ++i)
        if ((bytes[i] & 0xc0U) != 0x80)
            return 0;
    return length;
}
