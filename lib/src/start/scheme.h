/* A scheme: components chosen and combined by one string, e.g. "hca3(fit=500,offset=skampi(min=10))". */
#ifndef DOWNBEAT_SCHEME_H
#define DOWNBEAT_SCHEME_H

#include "base/component.h"

#define DB_MAX_NODES 24 /* of a hierarchical scheme with four levels, each with estimator and intercept */

/* All nodes of a chosen component, itself first. */
struct db_scheme {
    int count;
    struct db_node nodes[DB_MAX_NODES];
};

/* Parses `text` as a component of that kind. Returns 0, or -1 with what is wrong and what would be valid in `message`.
 */
int db_scheme_parse(struct db_scheme *scheme, const char *kind, const char *text, char message[DOWNBEAT_MAX_MESSAGE]);

/* Writes the scheme so that db_scheme_parse reads it back: parameters that differ from their defaults only. Cut off
 * where `size` is too small. */
void db_scheme_format(const struct db_scheme *scheme, char *text, size_t size);

/* Whether two schemes are the same in all parameters. */
int db_scheme_equal(const struct db_scheme *a, const struct db_scheme *b);

/* The sum of a parameter over all components of the scheme that have one of that name. */
double db_scheme_sum(const struct db_scheme *scheme, const char *parameter);

#endif
