/* A scheme: a tree of components that one string selects, e.g. "hca3(fit=500,offset=skampi(min=10))". */
#ifndef DOWNBEAT_SCHEME_H
#define DOWNBEAT_SCHEME_H

#include "base/component.h"

#define DB_MAX_NODES 24 /* enough for a hierarchical scheme with four levels, each with estimator and intercept */

/* A selected component and the components in its parameters. nodes[0] is the outermost component. */
struct db_scheme {
    int count; /* number of nodes */
    struct db_node nodes[DB_MAX_NODES];
};

/* Parses `text` as a component of a kind, e.g. "scheme" (Downbeat_components). Returns 0, or -1 with the problem and
 * the valid values in `message`. */
int db_scheme_parse(struct db_scheme *scheme, const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]);

/* Formats the scheme as db_scheme_parse reads it, with the parameters that differ from their defaults. Cut off if
 * `size` is too small. */
void db_scheme_format(const struct db_scheme *scheme, char *text, size_t size);

/* Returns 1 if two schemes have the same components and parameters. */
int db_scheme_equal(const struct db_scheme *a, const struct db_scheme *b);

/* Returns the sum of a parameter, by its name, over all components of the scheme; 0 if no component has it. */
double db_scheme_sum(const struct db_scheme *scheme, const char *parameter);

#endif
