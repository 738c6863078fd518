/* A component is anything that can be chosen by name: a clock, an offset estimator, a synchronization scheme, a slack
 * controller. It has parameters, some of which are components themselves. All components of a kind are in a registry
 * (registry.h); scheme.h chooses and combines them by one string. */
#ifndef DOWNBEAT_COMPONENT_H
#define DOWNBEAT_COMPONENT_H

#include <downbeat/clock.h>

#include <stddef.h>

#define DB_MAX_PARAMETERS 6 /* the most that a component has */

struct db_node;

/* First member of every component. */
struct db_component {
    Downbeat_component described; /* the public part; begins with the name, which registries need */
    /* Whether the parameters fit together: returns NULL if so, else what would be valid. NULL if they always do. */
    const char *(*check)(const struct db_node *node);
    /* Values that a parameter takes in addition to components of its kind, by its place: a list that ends with NULL. */
    const struct db_component *const *words[DB_MAX_PARAMETERS];
    int outermost; /* 1: never a parameter of another component */
};

/* The public part, for initializers. */
#define DB_DESCRIBED(NAME, SUMMARY, SOURCE, PARAMETERS)                                                                \
    .described = {.name = (NAME), .summary = (SUMMARY), .source = (SOURCE), .parameters = (PARAMETERS)}

/* The list of a component that has none. */
#define DB_NO_PARAMETERS ((const Downbeat_parameter[]){{.name = NULL}})

/* A chosen component with its parameters. */
struct db_node {
    const struct db_component *component;
    union {
        double number;
        int child; /* distance to the node of a component; a scheme can be copied */
    } values[DB_MAX_PARAMETERS];
};

/* Parameters by their place in the component's list. */
static inline double db_number(const struct db_node *node, int parameter) { return node->values[parameter].number; }
static inline int db_whole(const struct db_node *node, int parameter) { return (int)node->values[parameter].number; }
static inline const struct db_node *db_child(const struct db_node *node, int parameter) {
    return node + node->values[parameter].child;
}

/* Whether the chosen component is `component`. */
static inline int db_is(const struct db_node *node, const void *component) { return node->component == component; }

#endif
