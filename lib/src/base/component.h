/* A component is anything that can be chosen by name: a clock, an offset estimator, a synchronization scheme, a slack
 * controller. Its parameters are numbers or other components. All components of a kind (e.g. all clocks) are in a
 * registry (registry.h). A string such as "hca3(fit=500)" selects a component and its parameters; scheme.c parses it
 * into nodes. Such a string is also called a scheme, whatever the kind of its component. */
#ifndef DOWNBEAT_COMPONENT_H
#define DOWNBEAT_COMPONENT_H

#include <downbeat/clock.h>

#include <stddef.h>

#define DB_MAX_PARAMETERS 6 /* capacity of a component's parameter list */

struct db_node;

/* First member of every component. */
struct db_component {
    Downbeat_component described; /* public description; its first member is the name, as registries require */
    /* Checks the parameter values together. Returns NULL if they are consistent, else a message with the valid values.
     * The pointer is NULL if any combination is valid. */
    const char *(*check)(const struct db_node *node);
    /* Words that are valid values in addition to the components of the parameter's kind: a NULL-terminated list per
     * parameter, by index; NULL: none. */
    const struct db_component *const *words[DB_MAX_PARAMETERS];
    int outermost; /* 1 if it cannot be a parameter of another component */
};

/* Initializer of the public description. */
#define DB_DESCRIBED(NAME, SUMMARY, SOURCE, PARAMETERS)                                                                \
    .described = {.name = (NAME), .summary = (SUMMARY), .source = (SOURCE), .parameters = (PARAMETERS)}

/* Parameter list of a component without parameters. */
#define DB_NO_PARAMETERS ((const Downbeat_parameter[]){{.name = NULL}})

/* A selected component with the values of its parameters. */
struct db_node {
    const struct db_component *component;
    union {
        double number;
        int child; /* index of the child's node relative to this one, so that a scheme can be copied */
    } values[DB_MAX_PARAMETERS];
};

/* Value of a parameter, by its index in the component's list: a number, an integer, or the node of a component. */
static inline double db_number(const struct db_node *node, int parameter) { return node->values[parameter].number; }
static inline int db_integer(const struct db_node *node, int parameter) { return (int)node->values[parameter].number; }
static inline const struct db_node *db_child(const struct db_node *node, int parameter) {
    return node + node->values[parameter].child;
}

/* True if the selected component is `component`: a pointer to a struct whose first member is the db_component. */
static inline int db_is(const struct db_node *node, const void *component) { return node->component == component; }

#endif
