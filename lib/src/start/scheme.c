/* Parser and formatter of schemes (scheme.h). The values of a component's parameters are parsed recursively, since they
 * may be components. */
#include "start/scheme.h"

#include "base/registry.h"
#include "clock/clock.h"
#include "component_text.h"
#include "offset/offset.h"
#include "start/published.h"
#include "start/slack.h"
#include "sync/sync.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Kinds of components and their registries. */
static const struct {
    const char *kind;
    const void *const *registry;
} kinds[] = {
    {"scheme", db_sync_types}, {"offset", db_offset_types}, {"clock", db_clock_types},
    {"slack", db_slack_types}, {"published", db_published},
};

/* Returns the registry of a kind of component, or NULL for an unknown kind. */
static const void *const *components_of(const char *kind) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].registry;
    return NULL;
}

const Downbeat_component *const *Downbeat_components(const char *kind) {
    /* The first member of each registry entry is a struct db_component, whose first member is its description. */
    return kind == NULL ? NULL : (const Downbeat_component *const *)components_of(kind);
}

/* A parser of component texts, with its result. */
struct parser {
    struct db_scheme *scheme; /* the result so far */
    char *message;            /* DOWNBEAT_MAX_MESSAGE bytes for the problem */
};

/* Writes the problem; returns -1. */
__attribute__((format(printf, 2, 3))) static int refuse(const struct parser *parser, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->message, DOWNBEAT_MAX_MESSAGE, format, arguments);
    va_end(arguments);
    return -1;
}

#define NAMES_SIZE (DOWNBEAT_MAX_MESSAGE / 2)

static const Downbeat_parameter *parameters_of(const struct db_node *node) {
    return node->component->described.parameters;
}

/* Parses a component and its parameters. Sets `index` to the index of its node. Returns 0, or -1 with a message. */
static int parse_component(const struct parser *parser, const char *kind, const struct db_component *const *words,
                           struct db_slice text, int *index);

/* Parses the value of parameter `position` of the node at `index`. */
static int parse_value(const struct parser *parser, int index, int position, struct db_slice text) {
    struct db_node *node = &parser->scheme->nodes[index];
    const Downbeat_parameter *parameter = &parameters_of(node)[position];
    if (parameter->kind != NULL) {
        int child = index;
        if (parse_component(parser, parameter->kind, node->component->words[position], text, &child) != 0)
            return -1;
        node->values[position].child = child - index;
        return 0;
    }
    if (db_read_number(text, parameter->low, parameter->high, parameter->whole, &node->values[position].number) != 0)
        return refuse(parser, "%s: %s cannot be '%.*s'; use %s from %.10g to %.10g", node->component->described.name,
                      parameter->name, (int)text.length, text.text, parameter->whole ? "a whole number" : "a number",
                      parameter->low, parameter->high);
    return 0;
}

/* Parses the parameters of the node at `index`; missing ones get their defaults. */
static int parse_parameters(const struct parser *parser, int index, struct db_slice inside) {
    const struct db_node *node = &parser->scheme->nodes[index];
    const char *keys[DB_MAX_PARAMETERS + 1] = {NULL};
    struct db_slice values[DB_MAX_PARAMETERS];
    struct db_slice unknown;
    char problem[NAMES_SIZE];
    for (int position = 0; parameters_of(node)[position].name != NULL; ++position)
        keys[position] = parameters_of(node)[position].name;
    if (db_read_values(inside, keys, values, &unknown, problem, sizeof problem) != 0)
        return refuse(parser, "%s: %s", node->component->described.name, problem);
    for (int position = 0; keys[position] != NULL; ++position) {
        const char *default_value = parameters_of(node)[position].value;
        if (parse_value(parser, index, position,
                        values[position].text != NULL ? values[position]
                                                      : db_slice_of(default_value, strlen(default_value))) != 0)
            return -1;
    }
    return 0;
}

/* Returns 1 if the component is called `name`. Appends the component's name to `names`. */
static int is_called(const struct db_component *component, struct db_slice name, char names[NAMES_SIZE]) {
    size_t length = strlen(names);
    snprintf(names + length, NAMES_SIZE - length, "%s%s", length > 0 ? ", " : "", component->described.name);
    return db_slice_is(name, component->described.name);
}

/* Finds the word, or the component of a kind, that is called `name`. nested = 1: not components that must be outermost.
 * Returns NULL if the name is unknown, with all valid names in `names`. */
static const struct db_component *find_choice(const char *kind, const struct db_component *const *words, int nested,
                                              struct db_slice name, char names[NAMES_SIZE]) {
    for (; words != NULL && *words != NULL; ++words)
        if (is_called(*words, name, names))
            return *words;
    for (const void *const *entry = components_of(kind); entry != NULL && *entry != NULL; ++entry) {
        const struct db_component *component = *entry;
        if (!(nested && component->outermost) && is_called(component, name, names))
            return component;
    }
    return NULL;
}

static int parse_component(const struct parser *parser, const char *kind, const struct db_component *const *words,
                           struct db_slice text, int *index) {
    struct db_slice name;
    struct db_slice inside;
    char names[NAMES_SIZE] = "";
    if (db_split_component(text, &name, &inside, names, sizeof names) != 0)
        return refuse(parser, "%s", names);
    const struct db_component *component = find_choice(kind, words, parser->scheme->count > 0, name, names);
    if (component == NULL)
        return refuse(parser, "'%.*s' is unknown; choose one of %s", (int)name.length, name.text, names);
    if (parser->scheme->count == DB_MAX_NODES)
        return refuse(parser, "too many components; use at most %d", DB_MAX_NODES);

    *index = parser->scheme->count++;
    parser->scheme->nodes[*index] = (struct db_node){.component = component};
    if (parse_parameters(parser, *index, inside) != 0)
        return -1;
    const char *problem = component->check != NULL ? component->check(&parser->scheme->nodes[*index]) : NULL;
    if (problem != NULL)
        return refuse(parser, "%s: %s", component->described.name, problem);
    return 0;
}

int db_scheme_parse(struct db_scheme *scheme, const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]) {
    int index;
    scheme->count = 0;
    return parse_component(&(struct parser){scheme, message}, kind, NULL, db_slice_of(text, strlen(text)), &index);
}

int Downbeat_check(const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]) {
    struct db_scheme scheme;
    message[0] = '\0';
    if (kind == NULL || text == NULL || components_of(kind) == NULL || strcmp(kind, "clock") == 0 ||
        strcmp(kind, "slack") == 0 || strcmp(kind, "published") == 0) {
        snprintf(message, DOWNBEAT_MAX_MESSAGE, "unknown kind of component; choose one of scheme, offset");
        return MPI_ERR_ARG;
    }
    return db_scheme_parse(&scheme, kind, text, message) == 0 ? MPI_SUCCESS : MPI_ERR_ARG;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...) {
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

#define VALUE_SIZE 512

static void format_node(const struct db_node *node, char *text, size_t size);

/* Writes the value of a parameter: a component, or a number. */
static void format_value(const struct db_node *node, int position, char value[VALUE_SIZE]) {
    value[0] = '\0';
    if (parameters_of(node)[position].kind != NULL)
        format_node(db_child(node, position), value, VALUE_SIZE);
    else
        snprintf(value, VALUE_SIZE, "%.10g", db_number(node, position));
}

/* Appends the node to `text`, with the parameters that differ from their defaults. */
static void format_node(const struct db_node *node, char *text, size_t size) {
    append(text, size, "%s", node->component->described.name);
    int count = 0;
    for (int position = 0; parameters_of(node)[position].name != NULL; ++position) {
        const Downbeat_parameter *parameter = &parameters_of(node)[position];
        char value[VALUE_SIZE];
        format_value(node, position, value);
        if (strcmp(value, parameter->value) != 0)
            append(text, size, "%c%s=%s", count++ == 0 ? '(' : ',', parameter->name, value);
    }
    if (count > 0)
        append(text, size, ")");
}

void db_scheme_format(const struct db_scheme *scheme, char *text, size_t size) {
    text[0] = '\0';
    format_node(&scheme->nodes[0], text, size);
}

/* True if two nodes have the same component and, also in nested components, the same values. */
static int equal_nodes(const struct db_node *a, const struct db_node *b) {
    if (a->component != b->component)
        return 0;
    for (int position = 0; parameters_of(a)[position].name != NULL; ++position) {
        int equal = parameters_of(a)[position].kind != NULL ? equal_nodes(db_child(a, position), db_child(b, position))
                                                            : db_number(a, position) == db_number(b, position);
        if (!equal)
            return 0;
    }
    return 1;
}

int db_scheme_equal(const struct db_scheme *a, const struct db_scheme *b) {
    return equal_nodes(&a->nodes[0], &b->nodes[0]);
}

double db_scheme_sum(const struct db_scheme *scheme, const char *parameter) {
    double sum = 0.0;
    for (int i = 0; i < scheme->count; ++i) {
        const struct db_node *node = &scheme->nodes[i];
        for (int position = 0; parameters_of(node)[position].name != NULL; ++position)
            if (strcmp(parameters_of(node)[position].name, parameter) == 0)
                sum += db_number(node, position);
    }
    return sum;
}
