/* The configurations of papers (published.h) as components: their parameters are settings of this library (SETTING) and
 * options of downbeat-bench (OPTION). */
#include "start/published.h"

#include "base/component.h"

#define SETTING(NAME, VALUE, MEANING)                                                                                  \
    { NAME, VALUE, MEANING, DB_PUBLISHED_SETTING, 0, 0, 0 }
#define OPTION(NAME, VALUE, MEANING)                                                                                   \
    { NAME, VALUE, MEANING, DB_PUBLISHED_OPTION, 0, 0, 0 }
/* Processes are synchronized individually, once, at the start. */
#define ONCE                                                                                                           \
    SETTING("share", "never", "every process is synchronized by itself"),                                              \
        SETTING("max_age", "1000000", "clocks are synchronized once, at the start"),                                   \
        SETTING("max_error", "1000000", "however far they drift apart")
#define WINDOWS(SYNC, MEANING) OPTION("--sync", SYNC, MEANING), OPTION("--timing", "window", "global times")

static const struct db_component schuchart2023 = {
    .described = {.name = "schuchart2023",
                  .summary = "MPIX_Harmonize. Differs: clocks and the first slack are the communicator's, not the "
                             "world's, and bits are combined by MPI_BOR, as Alg. 1 has it and the authors' code not",
                  .source = "Schuchart 2023, Alg. 1, section 6",
                  .parameters = (const Downbeat_parameter[]){
                      SETTING("sync", "hca3_offset(offset=skampi(min=5,max=20))",
                              "HCA3 without drift, SKaMPI's offsets; counts from the authors' code"),
                      SETTING("slack", "published", "Alg. 1; clocks are synchronized every second"),
                      SETTING("flag_error", "off", "the flag knows the deadline alone"),
                      OPTION("--sync", "mpi_barrier,harmonize", "as compared in section 6"),
                      OPTION("--late", "flags", "what enters late with flag 1 counts"),
                      {.name = NULL}}}};

static const struct db_component hunold2015 = {
    .described = {
        .name = "hunold2015",
        .summary = "windows on clocks of HCA. Differs: the figures have (N_FITPTS, N_EXCHANGES) from (100, 30) "
                   "to (1000, 100) and windows from 100 us to 1 ms of their own; 100 windows at most follow "
                   "each other before ranks agree again",
        .source = "Hunold 2015, Alg. 1 to 4, Fig. 2 (4)",
        .parameters = (const Downbeat_parameter[]){
            SETTING("sync", "hca(over=0)", "first approach; fit=1000 is N_FITPTS, mean_rtt(exchanges=100) N_EXCHANGES"),
            ONCE,
            WINDOWS("window(growth=1)", "windows of a fixed size"),
            {.name = NULL}}}};

static const struct db_component hoefler2008 = {
    .described = {.name = "hoefler2008",
                  .summary = "NBCBench. Differs: windows grow by a rule of Downbeat's",
                  .source = "Hoefler 2008, section 3",
                  .parameters = (const Downbeat_parameter[]){
                      SETTING("sync", "netgauge", "tree from the leaves up, shortest round trips"),
                      ONCE,
                      WINDOWS("window", "windows that grow when they are missed"),
                      {.name = NULL}}}};

static const struct db_component niethammer2016 = {
    .described = {.name = "niethammer2016",
                  .summary = "both synchronizations of the benchmark suite. Differs: the clock is not gettimeofday, "
                             "unless clock=realtime; the delayed rank is a pattern, --pattern one_late --delay 10us",
                  .source = "Niethammer 2016, section III, listings 1 and 2",
                  .parameters = (const Downbeat_parameter[]){
                      SETTING("sync", "cristian", "every process with process 0, 100 exchanges"),
                      ONCE,
                      OPTION("--sync", "mpi_barrier,roundtime(lead=10ms)", "listing 1, listing 2"),
                      {.name = NULL}}}};

const void *const db_published[] = {&schuchart2023, &hunold2015, &hoefler2008, &niethammer2016, NULL};
