/* downbeat-bench of the wheel: finds the MPI library of this process, loads it, then the downbeat-bench that was built
 * for its ABI (../lib/downbeat/<ABI>/lib/downbeat-bench.so), and becomes that. The library is the one that
 * DOWNBEAT_MPI_LIBRARY names, else one that is loaded already, else that of the launcher that started this process,
 * else of the first mpirun on the path, else what the loader finds, an MPICH first. DOWNBEAT_MPI_CHOICE, in the
 * environment, says what was chosen, and why: --version and all files have it. With --mpi-library [LAUNCHER] it
 * prints the path of the library, that of the launcher. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum family { ANY, OPEN_MPI, MPICH, NONE };

/* Names by which programs ask for a library. Debian's MPICH has one of its own. */
static const struct {
    enum family family;
    const char *name;
} sonames[] = {
    {MPICH, "libmpi.so.12"}, {MPICH, "libmpich.so.12"}, {OPEN_MPI, "libmpi.so.40"}, {MPICH, "libmpi_abi.so.1"}};

static void *library;
static char reason[PATH_MAX + 64];

static int take(const char *name, const char *format, const char *what) {
    void *found = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
    if (found == NULL || dlsym(found, "MPI_Init") == NULL)
        return 0;
    library = found;
    snprintf(reason, sizeof reason, format, what);
    return 1;
}

static int take_by_name(enum family family, const char *format, const char *what) {
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames; ++i)
        if ((family == ANY || family == sonames[i].family) && take(sonames[i].name, format, what))
            return 1;
    return 0;
}

static enum family family_of(const char *program) {
    static const char *const open_mpi[] = {"orte", "prte", "orted", "prun", "mpirun.openmpi", "mpiexec.openmpi"};
    static const char *const mpich[] = {"hydra", "mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich"};
    for (size_t i = 0; i < sizeof open_mpi / sizeof *open_mpi; ++i)
        if (strncmp(program, open_mpi[i], strlen(open_mpi[i])) == 0)
            return OPEN_MPI;
    for (size_t i = 0; i < sizeof mpich / sizeof *mpich; ++i)
        if (strncmp(program, mpich[i], strlen(mpich[i])) == 0)
            return MPICH;
    return strcmp(program, "mpirun") == 0 || strcmp(program, "mpiexec") == 0 ? ANY : NONE;
}

/* The library of a launcher, by its path without symbolic links: <prefix>/lib, else what the loader finds. */
static int take_of(const char *launcher, const char *format) {
    static const char *const directories[] = {"lib", "lib64", "lib/release"};
    char path[PATH_MAX], prefix[PATH_MAX], name[PATH_MAX];
    snprintf(name, sizeof name, "%s", launcher);
    const enum family family = family_of(basename(name));
    if (family == NONE)
        return 0;
    snprintf(prefix, sizeof prefix, "%s", launcher);
    dirname(dirname(prefix));
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames; ++i)
        for (size_t j = 0; j < sizeof directories / sizeof *directories; ++j) {
            if (family != ANY && family != sonames[i].family)
                continue;
            const int length = snprintf(path, sizeof path, "%s/%s/%s", prefix, directories[j], sonames[i].name);
            if (length < (int)sizeof path && access(path, R_OK) == 0 && take(path, format, launcher))
                return 1;
        }
    return family != ANY && take_by_name(family, format, launcher);
}

/* A process that this one stems from, and is a launcher or its helper. */
static int take_of_ancestor(void) {
    int process = (int)getppid();
    while (process > 1) {
        char path[64], launcher[PATH_MAX], text[4096];
        snprintf(path, sizeof path, "/proc/%d/exe", process);
        const ssize_t length = readlink(path, launcher, sizeof launcher - 1);
        if (length > 0) {
            launcher[length] = '\0';
            if (take_of(launcher, "started by %s"))
                return 1;
        }
        snprintf(path, sizeof path, "/proc/%d/stat", process);
        FILE *file = fopen(path, "re");
        const size_t size = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
        if (file != NULL)
            fclose(file);
        text[size] = '\0';
        const char *rest = strrchr(text, ')'); /* of the name; the state and the parent follow */
        if (rest == NULL || sscanf(rest + 1, " %*c %d", &process) != 1)
            return 0;
    }
    return 0;
}

static int take_of_path(void) {
    const char *path = getenv("PATH");
    char *directories = strdup(path != NULL ? path : ""), *rest = directories, *directory = NULL;
    int taken = 0;
    while (!taken && (directory = strsep(&rest, ":")) != NULL) {
        static const char *const names[] = {"mpirun", "mpiexec"};
        for (size_t i = 0; i < 2 && !taken; ++i) {
            char candidate[PATH_MAX], resolved[PATH_MAX];
            const int length = snprintf(candidate, sizeof candidate, "%s/%s", directory, names[i]);
            if (length < (int)sizeof candidate && access(candidate, X_OK) == 0 && realpath(candidate, resolved) != NULL)
                taken = take_of(resolved, "%s is on the path");
        }
    }
    free(directories);
    return taken;
}

/* By variables of launchers that did not start it themselves, as Slurm's. */
static int take_of_variables(void) {
    static const char *const open_mpi[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"};
    static const char *const mpich[] = {"PMI_RANK", "PMI_FD"};
    for (size_t i = 0; i < 2; ++i)
        if (getenv(open_mpi[i]) != NULL && take_by_name(OPEN_MPI, "%s is set", open_mpi[i]))
            return 1;
    for (size_t i = 0; i < 2; ++i)
        if (getenv(mpich[i]) != NULL && take_by_name(MPICH, "%s is set", mpich[i]))
            return 1;
    return 0;
}

/* As python/downbeat/run/mpi_abi.py; NULL: another one. */
static const char *abi(void) {
    int major = 0, minor = 0;
    if (dlsym(library, "ompi_mpi_comm_self") != NULL)
        return "openmpi";
    if (dlsym(library, "MPIR_Dup_fn") != NULL)
        return "mpich";
    int (*version)(int *, int *) = (int (*)(int *, int *))dlsym(library, "MPI_Abi_get_version");
    return version != NULL && version(&major, &minor) == 0 && major > 0 ? "abi" : NULL;
}

static int fail(const char *format, const char *what) {
    fputs("downbeat-bench: ", stderr);
    fprintf(stderr, format, what);
    fputc('\n', stderr);
    return 1;
}

int main(int argc, char **argv) {
    const char *named = getenv("DOWNBEAT_MPI_LIBRARY");
    const int asked = argc > 1 && strcmp(argv[1], "--mpi-library") == 0;
    char *launcher = asked && argc > 2 ? realpath(argv[2], NULL) : NULL;
    if (named != NULL && *named != '\0') {
        if (!take(named, "%s names it", "DOWNBEAT_MPI_LIBRARY"))
            return fail(
                "DOWNBEAT_MPI_LIBRARY: '%s' is not an MPI library that can be loaded; give the path of a libmpi.so",
                named);
    } else if (!(launcher != NULL && take_of(launcher, "%s")) &&
               !(dlsym(RTLD_DEFAULT, "MPI_Get_library_version") != NULL && take(NULL, "%s", "it was loaded already")) &&
               !take_of_ancestor() && !take_of_variables() && !take_of_path() &&
               !take_by_name(ANY, "%s", "the loader finds it")) {
        return fail(
            "found no MPI library%s; load its module (module load openmpi), or set DOWNBEAT_MPI_LIBRARY to the path of "
            "its libmpi.so",
            "");
    }
    Dl_info found = {0};
    char program[PATH_MAX], path[PATH_MAX + 64], choice[2 * PATH_MAX + 128];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    dladdr(dlsym(library, "MPI_Init"), &found);
    if (dlsym(library, "MPI_Get_library_version") != NULL)
        dladdr(dlsym(library, "MPI_Get_library_version"), &found); /* MPI_Init may be libdownbeat-preload's */
    if (asked) {
        puts(found.dli_fname);
        return 0;
    }
    if (abi() == NULL)
        return fail(
            "'%s' has neither the ABI of Open MPI nor MPICH's nor the standard one; build for it: downbeat build",
            found.dli_fname);
    snprintf(choice, sizeof choice, "%s ABI for %s: %s", abi(), found.dli_fname, reason);
    setenv("DOWNBEAT_MPI_CHOICE", choice, 1);
    snprintf(path, sizeof path, "%s/../lib/downbeat/%s/lib/downbeat-bench.so", dirname(program), abi());
    void *bench = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    if (bench == NULL)
        return fail("%s", dlerror());
    int (*run)(int, char **) = (int (*)(int, char **))dlsym(bench, "main");
    return run(argc, argv);
}
