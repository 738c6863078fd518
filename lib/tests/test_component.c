/* Scheme strings: what they mean, how they are written back, and that nothing is ever ignored. */
#include "base/registry.h"
#include "check.h"
#include "start/scheme.h"
#include "sync/sync.h"

#include <string.h>

static struct db_scheme parse(const char *kind, const char *text) {
    struct db_scheme scheme;
    char message[DOWNBEAT_MAX_MESSAGE] = "";
    if (db_scheme_parse(&scheme, kind, text, message) != 0)
        fprintf(stderr, "%s: %s\n", text, message);
    CHECK(message[0] == '\0');
    CHECK(Downbeat_check(kind, text, message) == MPI_SUCCESS);
    return scheme;
}

static void written_back_as(const char *text, const char *shortest) {
    struct db_scheme scheme = parse("scheme", text);
    char back[DOWNBEAT_MAX_MESSAGE];
    db_scheme_format(&scheme, back, sizeof back);
    if (strcmp(back, shortest) != 0)
        fprintf(stderr, "%s is written back as %s\n", text, back);
    CHECK(strcmp(back, shortest) == 0);
    struct db_scheme again = parse("scheme", back);
    CHECK(db_scheme_equal(&scheme, &again));
}

static void refused(const char *text, const char *because) {
    char message[DOWNBEAT_MAX_MESSAGE] = "";
    CHECK(Downbeat_check("scheme", text, message) == MPI_ERR_ARG);
    if (strstr(message, because) == NULL)
        fprintf(stderr, "%s: %s\n", text, message);
    CHECK(strstr(message, because) != NULL);
    CHECK(strstr(message, "; ") != NULL); /* what would be valid */
    CHECK(strchr(message, '\n') == NULL);
}

static void values(void) {
    struct db_scheme scheme = parse("scheme", "hca3(fit=500,over=2.5,offset=skampi(min=7,max=100))");
    CHECK(db_is(&scheme.nodes[0], &db_sync_hca3.component));
    struct db_scheme copy = scheme;
    memset(&scheme, 0, sizeof scheme);
    struct db_learning learning = db_learning_fit(&copy.nodes[0]);
    CHECK_THAT(learning.fit_points, ==, 500);
    CHECK_THAT(learning.over_ns, ==, 2.5e9);
    CHECK(db_is(learning.offset, &db_offset_skampi));
    CHECK_THAT(db_number(learning.offset, 0), ==, 7);
    CHECK_THAT(db_number(learning.offset, 1), ==, 100);
    CHECK(db_is(learning.intercept, &db_intercept_fit));
    CHECK_THAT(db_scheme_sum(&copy, "over"), ==, 2.5);

    copy = parse("scheme", "hca2(intercept=netgauge(stop=5))");
    learning = db_learning_fit(&copy.nodes[0]);
    CHECK_THAT(learning.fit_points, ==, 1000);
    CHECK(db_is(learning.offset, &db_offset_mean_rtt));
    CHECK(db_is(learning.intercept, &db_offset_netgauge));
    CHECK_THAT(db_number(learning.intercept, 0), ==, 5);

    /* Every level of a hierarchy counts, defaults included. */
    copy = parse("scheme", "hierarchical(nodes=hca3(over=3),sockets=jk,within=hca2(over=0))");
    CHECK_THAT(db_scheme_sum(&copy, "over"), ==, 4);
}

static void shortest_form(void) {
    written_back_as("disciplined(radix=0,rounds=1,partners=24,offset=skampi(max=40,min=4))", "disciplined");
    written_back_as("disciplined(rounds=4,over=0.5)", "disciplined(rounds=4,over=0.5)");
    written_back_as("hca3_offset", "hca3_offset");
    written_back_as("hca3_offset(offset=skampi)", "hca3_offset");
    written_back_as("hca3_offset(offset=skampi(min=10,max=100))", "hca3_offset");
    written_back_as("hca3_offset(offset=skampi(max=50,min=10))", "hca3_offset(offset=skampi(max=50))");
    written_back_as("hca3(offset=best_rtt(share=0.5),fit=1e2)", "hca3(fit=100,offset=best_rtt(share=0.5))");
    written_back_as("jk(over=0,intercept=skampi)", "jk(over=0,intercept=skampi)");
    written_back_as("hierarchical(within=propagate,nodes=hca3(fit=10))", "hierarchical(nodes=hca3(fit=10))");
    written_back_as("hierarchical(nodes=netgauge,sockets=propagate,numa=jk(fit=2),within=cristian)",
                    "hierarchical(nodes=netgauge,sockets=propagate,numa=jk(fit=2),within=cristian)");
}

static void every_name(void) {
    const char *const kinds[] = {"scheme", "offset"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        const Downbeat_component *const *components = Downbeat_components(kinds[i]);
        CHECK(components != NULL && *components != NULL);
        for (; *components != NULL; ++components) {
            struct db_scheme scheme = parse(kinds[i], (*components)->name);
            CHECK(scheme.nodes[0].component->described.name == (*components)->name);
            CHECK((*components)->summary[0] != '\0' && (*components)->source != NULL &&
                  (*components)->parameters != NULL);
        }
    }
    CHECK(strcmp(Downbeat_components("clock")[0]->name, "tsc") == 0);
    CHECK(strcmp(Downbeat_components("scheme")[0]->name, "disciplined") == 0);
    CHECK(strcmp(Downbeat_components("slack")[0]->name, "auto") == 0);
    CHECK(Downbeat_components("colour") == NULL);
    CHECK(Downbeat_components(NULL) == NULL);
}

/* Whether the value of one parameter is the problem, and not how values fit together. */
static int value_refused(const char *kind, const char *component, const char *parameter, double value) {
    char text[128];
    char message[DOWNBEAT_MAX_MESSAGE];
    char refusal[64];
    snprintf(text, sizeof text, "%s(%s=%.17g)", component, parameter, value);
    snprintf(refusal, sizeof refusal, "%s cannot be '", parameter);
    return Downbeat_check(kind, text, message) != MPI_SUCCESS && strstr(message, refusal) != NULL;
}

static void check_parameter(const char *kind, const Downbeat_component *component,
                            const Downbeat_parameter *parameter) {
    char text[128];
    char back[DOWNBEAT_MAX_MESSAGE];
    snprintf(text, sizeof text, "%s(%s=%s)", component->name, parameter->name, parameter->value);
    struct db_scheme scheme = parse(kind, text);
    db_scheme_format(&scheme, back, sizeof back);
    CHECK(strcmp(back, component->name) == 0); /* the default is left out */
    CHECK(parameter->meaning[0] != '\0');
    if (parameter->kind != NULL)
        return;
    double step = parameter->whole ? 1.0 : 1e-3;
    CHECK_THAT(parameter->low, <, parameter->high);
    CHECK(!value_refused(kind, component->name, parameter->name, parameter->low));
    CHECK(!value_refused(kind, component->name, parameter->name, parameter->high));
    CHECK(value_refused(kind, component->name, parameter->name, parameter->low - step));
    CHECK(value_refused(kind, component->name, parameter->name, parameter->high + step));
    if (parameter->whole)
        CHECK(value_refused(kind, component->name, parameter->name, parameter->low + 0.5));
}

static void defaults_and_ranges(void) {
    const char *const kinds[] = {"scheme", "offset"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        for (const Downbeat_component *const *component = Downbeat_components(kinds[i]); *component != NULL;
             ++component)
            for (const Downbeat_parameter *parameter = (*component)->parameters; parameter->name != NULL; ++parameter)
                check_parameter(kinds[i], *component, parameter);
}

/* Counts as the papers have them: N_FITPTS, N_PINGPONGS, N_EXCHANGES of Hunold 2015 and 2018, a quarter of Hoefler
 * 2008. */
static void published_counts(void) {
    static const struct {
        const char *scheme;
        int fit_points;
    } fits[] = {{"jk", 1000}, {"hca", 1000}, {"hca2", 1000}, {"hca3", 500}};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; ++i) {
        struct db_scheme scheme = parse("scheme", fits[i].scheme);
        CHECK_THAT(db_learning_fit(&scheme.nodes[0]).fit_points, ==, fits[i].fit_points);
    }
    static const struct {
        const char *estimator;
        int parameter;
        double value;
    } counts[] = {{"mean_rtt", 0, 100}, {"mean_rtt", 1, 100},  {"cristian", 0, 100}, {"netgauge", 0, 100},
                  {"best_rtt", 0, 100}, {"best_rtt", 1, 0.25}, {"skampi", 0, 10},    {"skampi", 1, 100}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        struct db_scheme scheme = parse("offset", counts[i].estimator);
        CHECK_THAT(db_number(&scheme.nodes[0], counts[i].parameter), ==, counts[i].value);
    }
}

static void refusals(void) {
    refused("", "'' is unknown");
    refused("hca4", "'hca4' is unknown; choose one of disciplined, hca3_offset, hca3, ");
    refused(" hca3", "' hca3' is unknown");
    refused("hca3()", "hca3: unknown parameter ''; choose one of fit, over, offset, intercept");
    refused("hca3(fits=3)", "hca3: unknown parameter 'fits'");
    refused("hca3(fit)", "fit has no value");
    refused("hca3(fit=)", "fit cannot be ''");
    refused("hca3(fit=1)", "fit cannot be '1'; use a whole number from 2 to 1000000");
    refused("hca3(fit=2.5)", "fit cannot be '2.5'");
    refused("hca3(fit=nan)", "fit cannot be 'nan'");
    refused("hca3(fit=10x)", "fit cannot be '10x'");
    refused("hca3(over=-1)", "over cannot be '-1'; use a number from 0 to 3600");
    refused("hca3(fit=5,fit=5)", "fit is given twice");
    refused("hca3(fit=5", "the closing parenthesis is missing");
    refused("hca3(fit=5))", "unexpected ')' after 'hca3(fit=5)'");
    refused("hca3(fit=5)x", "unexpected 'x' after 'hca3(fit=5)'");
    refused("hca3(fit=5,)", "unknown parameter ''");
    refused("hca3 (fit=5)", "'hca3 ' is unknown");
    refused("disciplined(radix=1)", "a tree of radix 1 has no end; use radix 0 or");
    refused("disciplined(over=1)", "one round cannot be spread; use rounds of 2 or more");
    refused("hca3_offset(fit=5)", "hca3_offset: unknown parameter 'fit'; choose one of offset");
    refused("hca3(offset=hca3)", "'hca3' is unknown; choose one of skampi, netgauge");
    refused("hca3(offset=skampi(min=9,max=8))", "skampi: min is larger than max");
    refused("hca(intercept=fit)", "'fit' is unknown; choose one of skampi, netgauge");
    refused("hierarchical(nodes=hierarchical)", "'hierarchical' is unknown");
    refused("hierarchical(nodes=propagate)", "'propagate' is unknown");
    refused("hierarchical(within=skip)", "'skip' is unknown");
    refused("hca3(offset=skampi(min=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa))",
            "min cannot be 'aaa");

    char message[DOWNBEAT_MAX_MESSAGE] = "";
    CHECK(Downbeat_check("colour", "red", message) == MPI_ERR_ARG);
    CHECK(strstr(message, "choose one of scheme, offset") != NULL);
    CHECK(Downbeat_check("offset", "hca3", message) == MPI_ERR_ARG);
}

/* Names are appended to a text, up to its size, and not a byte further. */
static void names_of_a_registry(void) {
    static const char *const first = "first";
    static const char *const second = "second";
    const void *const registry[] = {&first, &second, NULL};
    const void *const none[] = {NULL};
    CHECK(db_registry_find(registry, "second") == &second);
    CHECK(db_registry_find(registry, "third") == NULL);

    static const char whole[] = "use first, second";
    for (size_t size = sizeof "use "; size <= sizeof whole + 1; ++size) {
        char text[32];
        memset(text, '#', sizeof text);
        strcpy(text, "use ");
        db_registry_names(registry, text, size);
        size_t length = size <= sizeof whole ? size - 1 : sizeof whole - 1;
        CHECK_THAT(strlen(text), ==, length);
        CHECK(strncmp(text, whole, length) == 0);
        CHECK(text[length + 1] == '#');
    }
    char text[] = "use ";
    db_registry_names(none, text, sizeof text);
    CHECK(strcmp(text, "use ") == 0);
}

int main(void) {
    names_of_a_registry();
    values();
    shortest_form();
    every_name();
    defaults_and_ranges();
    published_counts();
    refusals();
    return 0;
}
