/* An environment made of an input. */
#ifndef DOWNBEAT_TESTS_FUZZ_VARIABLES_H
#define DOWNBEAT_TESTS_FUZZ_VARIABLES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes each line KEY=value the variable <prefix>KEY, and leaves no other variable. Returns the input as a text, which
 * the caller frees, or NULL. Needs _GNU_SOURCE. */
static inline char *set_variables(const char *prefix, const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    char *lines = malloc(size + 1);
    clearenv();
    if (text == NULL || lines == NULL) {
        free(text);
        free(lines);
        return NULL;
    }
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    memcpy(lines, text, size + 1);
    char *rest = lines;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char name[300];
        char *value = strchr(line, '=');
        if (value == NULL || value - line > 250)
            continue;
        snprintf(name, sizeof name, "%s%.*s", prefix, (int)(value - line), line);
        setenv(name, value + 1, 1);
    }
    free(lines);
    return text;
}

#endif
