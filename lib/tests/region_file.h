/* Reads numbers from what the library writes of regions: one object per line, keys in a known order. */
#ifndef DOWNBEAT_TEST_REGION_FILE_H
#define DOWNBEAT_TEST_REGION_FILE_H

#include "check.h"

#include <string.h>

/* The line of a region, or NULL; valid until the next call. */
static inline const char *region_line(const char *path, const char *region) {
    static char line[1 << 16];
    char key[128];
    snprintf(key, sizeof key, "\"record\":\"region\",\"region\":\"%s\",", region);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (strstr(line, key) != NULL) {
            fclose(file);
            return line;
        }
    fclose(file);
    return NULL;
}

/* The first number after `key` that follows `within`. */
static inline double number_in(const char *line, const char *within, const char *key) {
    char text[64];
    CHECK(line != NULL);
    snprintf(text, sizeof text, "\"%s\":", within);
    const char *found = strstr(line, text);
    CHECK(found != NULL);
    snprintf(text, sizeof text, "\"%s\":", key);
    found = strstr(found, text);
    CHECK(found != NULL);
    char *end;
    double number = strtod(found + strlen(text), &end);
    CHECK(end != found + strlen(text));
    return number;
}

#endif
