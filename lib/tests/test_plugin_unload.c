/* test_plugin_unload PLUGIN: the library goes with a plugin that is unloaded, and MPI frees communicators that had
 * starts.
 */
#include "check.h"

#include <dlfcn.h>
#include <mpi.h>

typedef int start(MPI_Comm comm);

static void start_once(const char *path, MPI_Comm comm) {
    start *found;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(plugin != NULL);
    *(void **)(void *)&found = dlsym(plugin, "start_on");
    CHECK(found != NULL);
    CHECK_THAT(found(comm), ==, MPI_SUCCESS);
    CHECK_THAT(dlclose(plugin), ==, 0);
}

int main(int argc, char **argv) {
    MPI_Comm comm;
    CHECK_THAT(MPI_Init(&argc, &argv), ==, MPI_SUCCESS);
    for (int i = 0; i < 3; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        start_once(argv[1], comm);
        start_once(argv[1], MPI_COMM_WORLD);
        CHECK_THAT(MPI_Comm_free(&comm), ==, MPI_SUCCESS);
    }
    CHECK_THAT(MPI_Finalize(), ==, MPI_SUCCESS);
    return 0;
}
