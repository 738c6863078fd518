/* Sockets and NUMA domains, read from a tree made for the purpose. */
#include "check.h"
#include "sync/levels.h"

#include <sys/stat.h>

static char tree[] = "/tmp/downbeat-topology-XXXXXX";

static void make_folder(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", tree, name);
    CHECK(mkdir(path, 0700) == 0);
}

static void make_processor(int number, const char *socket, int numa) {
    char path[256];
    snprintf(path, sizeof path, "cpu%d", number);
    make_folder(path);
    snprintf(path, sizeof path, "cpu%d/topology", number);
    make_folder(path);
    snprintf(path, sizeof path, "cpu%d/node%d", number, numa);
    make_folder(path);
    snprintf(path, sizeof path, "%s/cpu%d/topology/physical_package_id", tree, number);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(socket, file);
    CHECK(fclose(file) == 0);
}

static void is_at(int processor, int socket, int numa) {
    struct db_location place = db_location_of(tree, processor);
    CHECK_THAT(place.socket, ==, socket);
    CHECK_THAT(place.numa, ==, numa);
}

int main(void) {
    CHECK(mkdtemp(tree) != NULL);
    make_processor(0, "0\n", 0);
    make_processor(1, "1\n", 3);
    make_processor(17, "-1\n", 2);
    make_processor(18, "what\n", 1);
    make_processor(19, "2147483647\n", 4); /* the most that an int holds; some firmware numbers sockets like that */
    make_processor(20, "2147483648\n", 5);
    is_at(0, 0, 0);
    is_at(1, 1, 3);
    is_at(17, 0, 2);
    is_at(18, 0, 1);
    is_at(19, 2147483647, 4);
    is_at(20, 0, 5);
    is_at(99, 0, 0); /* there is none */
    db_location_here();

    char command[256];
    snprintf(command, sizeof command, "rm -r %s", tree);
    CHECK(system(command) == 0); /* NOLINT: a fixed command */
    return 0;
}
