/* Parts with parameters, chosen and combined by one string, as "hca3(fit=500,offset=skampi(min=10))". What there is
 * stands in the registries (registry.h); what a string chooses is a scheme. */
#ifndef DOWNBEAT_PART_H
#define DOWNBEAT_PART_H

#include "downbeat/clock.h"

#include <stddef.h>

#define DB_MAX_PARAMETERS 6
#define DB_MAX_NODES 24 /* of a hierarchical scheme with four levels, each with estimator and intercept */

struct db_node;

/* First member of whatever can be chosen. */
struct db_part {
    Downbeat_part described; /* what the public header shows; begins with the name, as registries want it */
    /* Whether the parameters fit together: NULL if so, else what would. NULL where they always do. */
    const char *(*check)(const struct db_node *node);
};

/* The list of a part that has none. */
extern const Downbeat_parameter db_no_parameters[];

/* A chosen part with its parameters. */
struct db_node {
    const struct db_part *part;
    union {
        double number;
        int child; /* distance to the node of a part; a scheme can be copied */
    } values[DB_MAX_PARAMETERS];
};

/* All nodes of a chosen part, itself first. */
struct db_scheme {
    int count;
    struct db_node nodes[DB_MAX_NODES];
};

/* Parameters by their place in the part's list. */
static inline double db_number(const struct db_node *node, int parameter) { return node->values[parameter].number; }
static inline int db_whole(const struct db_node *node, int parameter) { return (int)node->values[parameter].number; }
static inline const struct db_node *db_child(const struct db_node *node, int parameter) {
    return node + node->values[parameter].child;
}

/* Whether the chosen part is `part`. */
static inline int db_is(const struct db_node *node, const void *part) { return node->part == part; }

/* The registry of a kind of part, or NULL if there is no such kind. */
const void *const *db_parts(const char *kind);

/* Parses `text` as a part of that kind. Returns 0, or -1 with what is wrong and what would be valid in `message`. */
int db_scheme_parse(struct db_scheme *scheme, const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]);

/* Writes the scheme so that db_scheme_parse reads it back: parameters that differ from their defaults only. Cut off
 * where `size` is too small. */
void db_scheme_format(const struct db_scheme *scheme, char *text, size_t size);

/* Whether two schemes are the same in all parameters. */
int db_scheme_equal(const struct db_scheme *a, const struct db_scheme *b);

/* The sum of a parameter over all parts of the scheme that have one of that name. */
double db_scheme_sum(const struct db_scheme *scheme, const char *parameter);

#endif
