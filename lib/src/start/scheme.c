#include "start/scheme.h"

#include "base/registry.h"
#include "clock/clock.h"
#include "offset/offset.h"
#include "start/published.h"
#include "start/slack.h"
#include "sync/sync.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind;
    const void *const *registry;
} kinds[] = {
    {"scheme", db_sync_types}, {"offset", db_offset_types}, {"clock", db_clock_types},
    {"slack", db_slack_types}, {"published", db_published},
};

/* The registry of a kind of component, or NULL if there is no such kind. */
static const void *const *components_of(const char *kind) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].registry;
    return NULL;
}

const Downbeat_component *const *Downbeat_components(const char *kind) {
    /* Every registry entry begins with a struct db_component, and that with its description. */
    return kind == NULL ? NULL : (const Downbeat_component *const *)components_of(kind);
}

/* The text from `rest` on is still to be read. */
struct parser {
    const char *rest;
    struct db_scheme *scheme;
    char *message;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct parser *parser, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(parser->message, DOWNBEAT_MAX_MESSAGE, format, arguments);
    va_end(arguments);
    return -1;
}

#define WORD_SIZE 40
#define NAMES_SIZE (DOWNBEAT_MAX_MESSAGE / 2)

/* Takes a word up to one of the characters that mean something; words that are too long are cut off, and unknown. */
static void take_word(struct parser *parser, char word[WORD_SIZE]) {
    size_t length = strcspn(parser->rest, "(),=");
    snprintf(word, WORD_SIZE, "%.*s", (int)length, parser->rest);
    parser->rest += length;
}

static int take(struct parser *parser, char character) {
    if (*parser->rest != character)
        return 0;
    ++parser->rest;
    return 1;
}

static const Downbeat_parameter *parameters_of(const struct db_node *node) {
    return node->component->described.parameters;
}

static int parse_component(struct parser *parser, const char *kind, const struct db_component *const *words,
                           int *index);

static int parse_bounded(const struct parser *parser, const struct db_node *node, const Downbeat_parameter *parameter,
                         const char *word, double *number) {
    char *end;
    errno = 0;
    *number = strtod(word, &end);
    int valid = end != word && *end == '\0' && errno == 0 && *number >= parameter->low && *number <= parameter->high;
    if (valid && parameter->whole)
        valid = *number == (double)(long long)*number;
    if (!valid)
        return refuse(parser, "%s: %s cannot be '%s'; valid: %s from %.10g to %.10g", node->component->described.name,
                      parameter->name, word, parameter->whole ? "a whole number" : "a number", parameter->low,
                      parameter->high);
    return 0;
}

/* The value of a parameter of the node at `index`. */
static int parse_value(struct parser *parser, int index, int place) {
    struct db_node *node = &parser->scheme->nodes[index];
    const Downbeat_parameter *parameter = &parameters_of(node)[place];
    if (parameter->kind != NULL) {
        int child;
        if (parse_component(parser, parameter->kind, node->component->words[place], &child) != 0)
            return -1;
        node->values[place].child = child - index;
        return 0;
    }
    char word[WORD_SIZE];
    take_word(parser, word);
    return parse_bounded(parser, node, parameter, word, &node->values[place].number);
}

static int refuse_parameter(const struct parser *parser, const struct db_node *node, const char *name) {
    char names[NAMES_SIZE] = "";
    for (const Downbeat_parameter *parameter = parameters_of(node); parameter->name != NULL; ++parameter)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] == '\0' ? "" : ", ",
                 parameter->name);
    return refuse(parser, "%s has no parameter '%s'; valid: %s", node->component->described.name, name,
                  names[0] == '\0' ? "none" : names);
}

/* "name=value" of the node at `index`; marks it in `given`. */
static int parse_assignment(struct parser *parser, int index, int given[DB_MAX_PARAMETERS]) {
    const struct db_node *node = &parser->scheme->nodes[index];
    char name[WORD_SIZE];
    take_word(parser, name);
    int place = 0;
    while (parameters_of(node)[place].name != NULL && strcmp(parameters_of(node)[place].name, name) != 0)
        ++place;
    if (parameters_of(node)[place].name == NULL)
        return refuse_parameter(parser, node, name);
    if (given[place])
        return refuse(parser, "%s: %s is given twice; give it once", node->component->described.name, name);
    if (!take(parser, '='))
        return refuse(parser, "%s: %s has no value; write %s=%s", node->component->described.name, name, name,
                      parameters_of(node)[place].value);
    given[place] = 1;
    return parse_value(parser, index, place);
}

/* "(name=value,...)" of the node at `index`. */
static int parse_parameters(struct parser *parser, int index, int given[DB_MAX_PARAMETERS]) {
    do {
        if (parse_assignment(parser, index, given) != 0)
            return -1;
    } while (take(parser, ','));
    if (!take(parser, ')'))
        return refuse(parser, "%s: expected ',' or ')' before '%s'; write it like hca3(fit=500,offset=skampi(min=10))",
                      parser->scheme->nodes[index].component->described.name, parser->rest);
    return 0;
}

/* Gives the parameters that the text does not name their defaults. */
static int fill_in(struct parser *parser, int index, const int given[DB_MAX_PARAMETERS]) {
    const char *rest = parser->rest;
    for (int place = 0; parameters_of(&parser->scheme->nodes[index])[place].name != NULL; ++place) {
        parser->rest = parameters_of(&parser->scheme->nodes[index])[place].value;
        if (!given[place] && parse_value(parser, index, place) != 0)
            return -1;
    }
    parser->rest = rest;
    return 0;
}

/* Whether the component has that name. Appends its own to `names`. */
static int is_called(const struct db_component *component, const char *name, char names[NAMES_SIZE]) {
    size_t length = strlen(names);
    snprintf(names + length, NAMES_SIZE - length, "%s%s", length > 0 ? ", " : "", component->described.name);
    return strcmp(component->described.name, name) == 0;
}

/* The component of that kind, or the word; NULL, and all names, if there is none. */
static const struct db_component *find_choice(const char *kind, const struct db_component *const *words, int nested,
                                              const char *name, char names[NAMES_SIZE]) {
    for (; words != NULL && *words != NULL; ++words)
        if (is_called(*words, name, names))
            return *words;
    for (const void *const *each = components_of(kind); each != NULL && *each != NULL; ++each) {
        const struct db_component *component = *each;
        if (!(nested && component->outermost) && is_called(component, name, names))
            return component;
    }
    return NULL;
}

static int parse_component(struct parser *parser, const char *kind, const struct db_component *const *words,
                           int *index) {
    char name[WORD_SIZE];
    char names[NAMES_SIZE] = "";
    take_word(parser, name);
    const struct db_component *component = find_choice(kind, words, parser->scheme->count > 0, name, names);
    if (component == NULL)
        return refuse(parser, "'%s' is unknown; choose one of %s", name, names);
    if (parser->scheme->count == DB_MAX_NODES)
        return refuse(parser, "too many components; use at most %d", DB_MAX_NODES);

    *index = parser->scheme->count++;
    parser->scheme->nodes[*index] = (struct db_node){.component = component};
    int given[DB_MAX_PARAMETERS] = {0};
    if (take(parser, '(') && parse_parameters(parser, *index, given) != 0)
        return -1;
    if (fill_in(parser, *index, given) != 0)
        return -1;
    const char *problem = component->check != NULL ? component->check(&parser->scheme->nodes[*index]) : NULL;
    if (problem != NULL)
        return refuse(parser, "%s: %s", name, problem);
    return 0;
}

int db_scheme_parse(struct db_scheme *scheme, const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]) {
    struct parser parser = {.rest = text, .scheme = scheme, .message = message};
    int index;
    scheme->count = 0;
    if (parse_component(&parser, kind, NULL, &index) != 0)
        return -1;
    if (*parser.rest != '\0')
        return refuse(&parser, "unexpected '%s' after '%.*s'; nothing may follow", parser.rest,
                      (int)(parser.rest - text), text);
    return 0;
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

static void format_value(const struct db_node *node, int place, char value[VALUE_SIZE]) {
    value[0] = '\0';
    if (parameters_of(node)[place].kind != NULL)
        format_node(db_child(node, place), value, VALUE_SIZE);
    else
        snprintf(value, VALUE_SIZE, "%.10g", db_number(node, place));
}

/* Appends the node to `text`. */
static void format_node(const struct db_node *node, char *text, size_t size) {
    append(text, size, "%s", node->component->described.name);
    int given = 0;
    for (int place = 0; parameters_of(node)[place].name != NULL; ++place) {
        const Downbeat_parameter *parameter = &parameters_of(node)[place];
        char value[VALUE_SIZE];
        format_value(node, place, value);
        if (strcmp(value, parameter->value) != 0)
            append(text, size, "%c%s=%s", given++ == 0 ? '(' : ',', parameter->name, value);
    }
    if (given > 0)
        append(text, size, ")");
}

void db_scheme_format(const struct db_scheme *scheme, char *text, size_t size) {
    text[0] = '\0';
    format_node(&scheme->nodes[0], text, size);
}

static int equal_nodes(const struct db_node *a, const struct db_node *b) {
    if (a->component != b->component)
        return 0;
    for (int place = 0; parameters_of(a)[place].name != NULL; ++place) {
        int equal = parameters_of(a)[place].kind != NULL ? equal_nodes(db_child(a, place), db_child(b, place))
                                                         : db_number(a, place) == db_number(b, place);
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
        for (int place = 0; parameters_of(node)[place].name != NULL; ++place)
            if (strcmp(parameters_of(node)[place].name, parameter) == 0)
                sum += db_number(node, place);
    }
    return sum;
}
