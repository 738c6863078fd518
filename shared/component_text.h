/* The parser of component texts, name(key=value,...): schemes, downbeat-bench's components, the validation clock and
 * simulated platforms. A value can be a component itself, in the same form. Callers supply the keys and check the
 * values.
 *
 * A function that can fail has a `message` of `size` bytes for the problem and the valid values. */
#ifndef DOWNBEAT_SHARED_COMPONENT_TEXT_H
#define DOWNBEAT_SHARED_COMPONENT_TEXT_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slice of a text, not terminated by 0. */
struct db_slice {
    const char *text; /* NULL: no text */
    size_t length;
};

/* Makes a slice. */
static inline struct db_slice db_slice_of(const char *text, size_t length) {
    struct db_slice part;
    part.text = text;
    part.length = length;
    return part;
}

/* Returns 1 if the slice is equal to `word`. */
static inline int db_slice_is(struct db_slice part, const char *word) {
    return part.length == strlen(word) && memcmp(part.text, word, part.length) == 0;
}

/* Removes the first word from a comma-separated list, and returns 1 with it; 0 if the list is empty. Commas inside
 * parentheses do not separate. */
static inline int db_next_word(struct db_slice *list, struct db_slice *word) {
    size_t end = 0;
    if (list->text == NULL)
        return 0;
    for (int depth = 0; end < list->length && !(list->text[end] == ',' && depth <= 0); ++end)
        depth += list->text[end] == '(' ? 1 : list->text[end] == ')' ? -1 : 0;
    *word = db_slice_of(list->text, end);
    *list = end < list->length ? db_slice_of(list->text + end + 1, list->length - end - 1) : db_slice_of(NULL, 0);
    return 1;
}

/* Splits the text "name(inside)" of a component. Without parentheses, inside->text is NULL. Returns 0, or -1 with a
 * message. */
static inline int db_split_component(struct db_slice text, struct db_slice *name, struct db_slice *inside,
                                     char *message, size_t size) {
    const char *open = text.length > 0 ? (const char *)memchr(text.text, '(', text.length) : NULL;
    *name = db_slice_of(text.text, open == NULL ? text.length : (size_t)(open - text.text));
    *inside = db_slice_of(NULL, 0);
    if (open == NULL)
        return 0;
    size_t end = name->length;
    int depth = 0;
    do {
        depth += text.text[end] == '(' ? 1 : text.text[end] == ')' ? -1 : 0;
        ++end;
    } while (end < text.length && depth > 0);
    if (depth > 0) {
        snprintf(message, size, "the closing parenthesis is missing; write NAME(KEY=VALUE,...)");
        return -1;
    }
    if (end < text.length) {
        snprintf(message, size, "unexpected '%.*s' after '%.*s'; nothing may follow the closing parenthesis",
                 (int)(text.length - end), text.text + end, (int)end, text.text);
        return -1;
    }
    *inside = db_slice_of(open + 1, end - name->length - 2);
    return 0;
}

/* Formats the message about a key that is not in `keys`, which is NULL-terminated. */
static inline void db_explain_unknown(struct db_slice key, const char *const *keys, char *message, size_t size) {
    snprintf(message, size, "unknown parameter '%.*s'; %s", (int)key.length, key.text,
             keys[0] == NULL ? "there are none" : "choose one of ");
    for (; *keys != NULL && strlen(message) < size - 1; ++keys)
        snprintf(message + strlen(message), size - strlen(message), "%s%s", *keys, keys[1] == NULL ? "" : ", ");
}

/* Parses the text inside the parentheses, "key=value,...". `keys` ends with NULL. Sets values[i] to the value of
 * keys[i]; its text is NULL if the key is missing. Returns 0, or -1 with a message; `unknown` is then the key if it is
 * unknown, else its text is NULL. */
static inline int db_read_values(struct db_slice inside, const char *const *keys, struct db_slice *values,
                                 struct db_slice *unknown, char *message, size_t size) {
    for (size_t i = 0; keys[i] != NULL; ++i)
        values[i] = db_slice_of(NULL, 0);
    *unknown = db_slice_of(NULL, 0);
    for (struct db_slice word; db_next_word(&inside, &word);) {
        const char *equals = word.length > 0 ? (const char *)memchr(word.text, '=', word.length) : NULL;
        struct db_slice key = db_slice_of(word.text, equals == NULL ? word.length : (size_t)(equals - word.text));
        size_t index = 0;
        while (keys[index] != NULL && !db_slice_is(key, keys[index]))
            ++index;
        if (keys[index] == NULL) {
            *unknown = key;
            db_explain_unknown(key, keys, message, size);
            return -1;
        }
        if (equals == NULL || values[index].text != NULL) {
            snprintf(message, size,
                     equals == NULL ? "parameter %s has no value; write %s=VALUE"
                                    : "parameter %s is given twice; give %s once",
                     keys[index], keys[index]);
            return -1;
        }
        values[index] = db_slice_of(equals + 1, word.length - key.length - 1);
    }
    return 0;
}

/* Parses a number. Returns 0, or -1 if the text is not a number from `low` to `high`, or not an integer although
 * `whole` is 1. */
static inline int db_read_number(struct db_slice text, double low, double high, int whole, double *number) {
    char copy[64];
    char *end;
    if (text.length == 0 || text.length >= sizeof copy)
        return -1;
    memcpy(copy, text.text, text.length);
    copy[text.length] = '\0';
    errno = 0;
    *number = strtod(copy, &end);
    if (*end != '\0' || errno != 0 || !(*number >= low && *number <= high))
        return -1;
    return whole && *number != (double)(long long)*number ? -1 : 0;
}

#endif
