/* DOWNBEAT_*: each line of the input is a variable, KEY=value. Accepted settings must read back as written. */
#define _GNU_SOURCE
#include "start/settings.h"
#include "variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int condition, const char *what, const char *text) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", what, text);
        abort();
    }
}

static void reads_back(const struct db_settings *settings) {
    char text[DOWNBEAT_MAX_MESSAGE];
    char again[DOWNBEAT_MAX_MESSAGE];
    char message[DOWNBEAT_MAX_MESSAGE] = "";
    struct db_scheme scheme;
    struct db_validation validation = {0};
    db_scheme_format(&settings->sync, text, sizeof text);
    need(db_scheme_parse(&scheme, "scheme", text, message) == 0, message, text);
    need(db_scheme_equal(&scheme, &settings->sync), "reads back as another scheme", text);
    db_validation_format(&settings->validation, text, sizeof text);
    need(db_validation_parse(&validation, text) == NULL, "the validation does not read back", text);
    db_validation_format(&validation, again, sizeof again);
    need(strcmp(text, again) == 0, "reads back as another validation", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct db_settings settings;
    struct db_reason reason = {""};
    char *text = set_variables("DOWNBEAT_", data, size);
    if (text == NULL)
        return 0;
    if (db_settings_from_environment(&settings, &reason) == MPI_SUCCESS)
        reads_back(&settings);
    else
        need(reason.text[0] != '\0' && strlen(reason.text) < sizeof reason.text, "no reason", text);
    clearenv();
    free(text);
    return 0;
}
