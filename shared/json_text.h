/* A text as JSON has it. */
#ifndef DOWNBEAT_SHARED_JSON_TEXT_H
#define DOWNBEAT_SHARED_JSON_TEXT_H

#include <stdio.h>

static inline void write_json_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text != '\0'; ++text) {
        if ((unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned)*text);
        else if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

#endif
