/* Files and tables of regions, to the letter, from records that are known. On each rank by itself. */
#include "check_mpi.h"
#include "region/region_file.h" /* there is one beside this file, too */

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 3

static int rank;

/* "name.json", and on another rank "name.rank<N>.json". */
static const char *file_of(const char *name, const char *suffix) {
    static char path[128];
    if (rank == 0)
        snprintf(path, sizeof path, "%s%s", name, suffix);
    else
        snprintf(path, sizeof path, "%s.rank%d%s", name, rank, suffix);
    return path;
}

/* Two valid samples, 100 ns apart, and one of each kind that does not count. */
static struct db_region_record *known_record(const char *name) {
    const int world_ranks[SIZE] = {4, MPI_UNDEFINED, 7};
    struct db_region_record *record = db_region_record_create(name, SIZE, world_ranks);
    CHECK(record != NULL);
    for (int kind = 0; kind < 5; ++kind) {
        const int64_t quality[] = {DB_PART_VALID, DB_PART_VALID, DB_PART_LATE_FLAG, DB_PART_LATE_ENTRY,
                                   DB_PART_UNFINISHED};
        struct db_region_part parts[SIZE];
        for (int i = 0; i < SIZE; ++i)
            parts[i] = (struct db_region_part){.latency = 1000.0 + 100.0 * kind + 10.0 * i,
                                               .entry = 10.0 * i,
                                               .exit = 1000.0 + 100.0 * kind + 20.0 * i,
                                               .bound = 5.0 + i};
        parts[kind % SIZE].quality = quality[kind];
        db_region_record_add(record, parts, 1);
    }
    return record;
}

static struct db_region_entry entry_of(struct db_region_record *record, const char *file, int table,
                                       struct db_region_entry *next) {
    struct db_region_entry entry = {.next = next, .record = record, .communicator = "a\"b\\c\n"};
    snprintf(entry.settings.regions, sizeof entry.settings.regions, "%s", file);
    entry.settings.regions_table = table;
    entry.settings.tolerance_ns = 500;
    return entry;
}

enum { KNOWN, EMPTY, END, LINES };

static char golden[LINES][1 << 12]; /* one line for each */

static void read_golden(void) {
    FILE *file = fopen(GOLDEN_DIR "/regions.json", "r");
    CHECK(file != NULL);
    for (int i = 0; i < LINES; ++i)
        CHECK(fgets(golden[i], sizeof golden[i], file) != NULL);
    CHECK(fclose(file) == 0);
}

/* The first line names program, library, date and world. */
static void check_context(const char *line) {
    char expected[128];
    int version;
    int subversion;
    int size;
    MPI_Get_version(&version, &subversion);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(expected, sizeof expected, ",\"mpi_standard\":\"%d.%d\",\"world_size\":%d}\n", version, subversion, size);
    const char *found = strstr(line, ",\"mpi_standard\"");
    CHECK(found != NULL && strcmp(found, expected) == 0);
    const char context[] = "{\"schema_version\":1,\"record\":\"context\",\"downbeat_version\":\"";
    CHECK(strncmp(line, context, strlen(context)) == 0);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    found = strstr(line, "\"mpi_library\":\"");
    CHECK(found != NULL && found[15] == library[0]); /* some libraries write more than one line */
}

/* The whole file, which holds these lines after the first. */
static void check_file(const char *path, const int *lines, int count) {
    char line[1 << 15];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(line, sizeof line, file) != NULL);
    check_context(line);
    for (int i = 0; i < count; ++i) {
        CHECK(fgets(line, sizeof line, file) != NULL);
        CHECK(strcmp(line, golden[lines[i]]) == 0);
    }
    CHECK(fgets(line, sizeof line, file) == NULL);
    CHECK(fclose(file) == 0);
    CHECK(remove(path) == 0);
}

/* Checks the table in a file that a stream led to. */
static void check_table(const char *path, const char *rows) {
    char found[1 << 12] = "";
    char expected[1 << 12] = "";
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    size_t length = fread(found, 1, sizeof found - 1, file);
    found[length] = '\0';
    CHECK(fclose(file) == 0);
    snprintf(expected, sizeof expected,
             "downbeat: regions recorded by rank %d; sample counts, and medians over valid samples [us]\n"
             "region                    ranks     valid  rejected unfinished  latency avg  latency max     makespan    "
             "exit skew     end skew\n%s",
             rank, rows);
    CHECK(strcmp(found, expected) == 0);
    CHECK(remove(path) == 0);
}

/* Leads a stream's descriptor to a file; returns where it led before. */
static int lead(int descriptor, const char *path) {
    int before = dup(descriptor);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(before >= 0 && file >= 0);
    CHECK(dup2(file, descriptor) == descriptor);
    close(file);
    return before;
}

static void lead_back(int descriptor, int before) {
    CHECK(dup2(before, descriptor) == descriptor);
    close(before);
}

/* A region is written where a link is, and the target of the link stays. The default name follows no link; one that the
 * user gives follows a symbolic link of the user's. */
static void check_link(struct db_region_entry *entry, const char *name, int (*plant)(const char *, const char *),
                       int followed) {
    const int lines[] = {KNOWN, END};
    char text[32] = "";
    const char *path = file_of(name, ".json");
    FILE *file = fopen("victim", "w");
    CHECK(file != NULL && fputs("years of work", file) >= 0 && fclose(file) == 0);
    CHECK(plant("victim", path) == 0);
    snprintf(entry->settings.regions, sizeof entry->settings.regions, "%s.json", name);
    db_region_files_write(entry);
    file = fopen("victim", "r");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL && fclose(file) == 0);
    CHECK((strcmp(text, "years of work") == 0) == !followed);
    check_file(path, lines, 2);
    CHECK(remove("victim") == 0);
}

static void links(struct db_region_record *known) {
    char directory[64];
    struct db_region_entry entry = entry_of(known, "", DB_TABLE_OFF, NULL);
    snprintf(directory, sizeof directory, "test_region_file.dir%d", rank);
    CHECK(mkdir(directory, 0700) == 0 && chdir(directory) == 0);
    check_link(&entry, "downbeat-regions", symlink, 0);
    check_link(&entry, "downbeat-regions", link, 0);
    check_link(&entry, "named", symlink, rank == 0);
    check_link(&entry, "named", link, 0);
    CHECK(chdir("..") == 0 && rmdir(directory) == 0); /* nothing is left */
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    read_golden();
    const int alone = 0;
    struct db_region_record *known = known_record("known");
    struct db_region_record *empty = db_region_record_create("empty", 1, &alone);
    CHECK(empty != NULL);
    /* Two regions in one file, one in another, whose name has a dot in the folder alone, and one in none. */
    struct db_region_entry entries[4];
    entries[3] = entry_of(empty, "off", DB_TABLE_STDERR, NULL);
    entries[2] = entry_of(empty, "test_region_file.json", DB_TABLE_STDOUT, &entries[3]);
    entries[1] = entry_of(known, "./test_region_file_plain", DB_TABLE_OFF, &entries[2]);
    entries[0] = entry_of(known, "test_region_file.json", DB_TABLE_STDOUT, &entries[1]);

    char out[64];
    char err[64];
    snprintf(out, sizeof out, "test_region_file.out%d", rank);
    snprintf(err, sizeof err, "test_region_file.err%d", rank);
    fflush(stdout);
    int stdout_before = lead(STDOUT_FILENO, out);
    int stderr_before = lead(STDERR_FILENO, err);
    db_region_files_write(&entries[0]);
    lead_back(STDOUT_FILENO, stdout_before);
    lead_back(STDERR_FILENO, stderr_before);

    const int both[] = {KNOWN, EMPTY, END};
    const int one[] = {KNOWN, END};
    check_file(file_of("test_region_file", ".json"), both, 3);
    check_file(file_of("test_region_file_plain", ""), one, 2);
    CHECK(access("off", F_OK) != 0);
    const char empty_row[] = "empty                         1         0         0          0            -            "
                             "-            -            -            -\n";
    char rows[1 << 10];
    snprintf(rows, sizeof rows,
             "known                         3         2         2          1        1.060        1.070        1.090    "
             "    0.020        0.040\n%s",
             empty_row);
    check_table(out, rows);
    check_table(err, empty_row);

    /* Nobody asks for a table: none is printed, not even its head. */
    entries[0].next = NULL;
    entries[0].settings.regions_table = DB_TABLE_OFF;
    stdout_before = lead(STDOUT_FILENO, out);
    db_region_files_write(&entries[0]);
    db_region_files_write(NULL);
    lead_back(STDOUT_FILENO, stdout_before);
    FILE *file = fopen(out, "r");
    CHECK(file != NULL && fgetc(file) == EOF);
    CHECK(fclose(file) == 0 && remove(out) == 0);
    CHECK(remove(file_of("test_region_file", ".json")) == 0);

    links(known);
    db_region_record_free(known);
    db_region_record_free(empty);
    MPI_Finalize();
    return 0;
}
