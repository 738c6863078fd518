/* The file of a recording (protected_file.h). The program may close all descriptors, reuse this one's number, or change
 * the directory, so the descriptor is verified before each use, and the file is opened again if necessary. */
#define _GNU_SOURCE
#include "protected_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* The recording uses at most 1/MEMORY_SHARE of a limited address space; the rest is left to the program. */
#define MEMORY_SHARE 16

/* A mapping of a part of the file, in a list. */
struct mapping {
    struct mapping *next;
    char *memory;
    size_t size;
};

static int descriptor = -1; /* the program may have closed it; -1: none */
static dev_t device;        /* device and inode identify the file */
static ino_t inode;
static char *name;               /* path; NULL: no file */
static int64_t file_size;        /* bytes */
static struct mapping *mappings; /* list of all mappings of the file */

/* Returns 1 if a descriptor refers to the file of the recording. */
static int is_ours(int file) {
    struct stat status;
    return file >= 0 && fstat(file, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

/* Duplicates a descriptor to a number in the highest 16th of the possible numbers, at most 1023, so that the program
 * gets the same low numbers as without this library. Returns a negative number on error. */
static int copy_high(int file) {
    struct rlimit limit;
    rlim_t numbers = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1024 ? limit.rlim_cur : 1024;
    return fcntl(file, F_DUPFD_CLOEXEC, (int)(numbers - numbers / 16 - 1));
}

/* Stores a new descriptor, moved to a high number. */
static void store_descriptor(int file) {
    int high = copy_high(file);
    descriptor = high >= 0 ? high : file;
    if (high >= 0)
        close(file);
}

/* Returns a temporary duplicate of the descriptor, which other threads are unlikely to close even if they close all
 * files. Opens the file again if necessary. Returns a negative number on error, with errno. Pass it to
 * release_descriptor. */
static int get_descriptor(void) {
    if (!is_ours(descriptor)) {
        int reopened = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        descriptor = -1;
        if (reopened >= 0 && !is_ours(reopened)) {
            close(reopened);
            errno = ENOENT;
            reopened = -1;
        }
        if (reopened < 0)
            return -1;
        store_descriptor(reopened);
    }
    int file = copy_high(descriptor);
    return is_ours(file) ? file : descriptor;
}

/* Closes a descriptor of the file that was opened for a moment. */
static void release_descriptor(int file) {
    if (file != descriptor && is_ours(file))
        close(file);
}

int protected_file_create(const char *path) {
    struct stat status = {0};
    name = strdup(path);
    int file = name != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    int code = file < 0 ? errno : 0;
    if (file >= 0 && fstat(file, &status) != 0) {
        code = errno;
        close(file);
    }
    if (code != 0) {
        free(name);
        name = NULL;
        return code;
    }
    device = status.st_dev;
    inode = status.st_ino;
    store_descriptor(file);
    return 0;
}

int64_t protected_file_size(void) { return file_size; }

/* Lowers `room` to `limit` if `limit` is smaller; `code` is then `error`. Bytes. */
static void lower_room(int64_t *room, int *code, int64_t limit, int error) {
    if (limit < *room) {
        *room = limit > 0 ? limit : 0;
        *code = error;
    }
}

/* Lowers `room` to 1/share of a resource limit of the process, minus the size of the file. */
static void lower_to_limit(int64_t *room, int *code, int resource, int64_t share, int error) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < INT64_MAX)
        lower_room(room, code, (int64_t)limit.rlim_cur / share - file_size, error);
}

int64_t protected_file_room(int *code) {
    struct statvfs disk;
    int64_t room = INT64_MAX;
    *code = ENOSPC;
    lower_to_limit(&room, code, RLIMIT_FSIZE, 1, EFBIG);
    lower_to_limit(&room, code, RLIMIT_AS, MEMORY_SHARE, ENOMEM);
    int file = get_descriptor();
    if (file < 0)
        lower_room(&room, code, 0, errno);
    else if (fstatvfs(file, &disk) == 0 && disk.f_blocks > 0) /* 0 blocks: the size is unknown */
        lower_room(&room, code, (int64_t)((geteuid() == 0 ? disk.f_bfree : disk.f_bavail) * disk.f_frsize), ENOSPC);
    release_descriptor(file);
    return room;
}

void signals_hold(struct held_signals *held, int all) {
    sigset_t set;
    sigemptyset(&set);
    if (all)
        sigfillset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &held->before);
    sigpending(&set);
    held->pending = sigismember(&set, SIGXFSZ);
}

void signals_release(const struct held_signals *held) {
    static const struct timespec now = {0, 0};
    sigset_t set;
    sigpending(&set);
    if (!held->pending && sigismember(&set, SIGXFSZ)) {
        sigemptyset(&set);
        sigaddset(&set, SIGXFSZ);
        sigtimedwait(&set, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

/* Allocates space before it is mapped: writing to a mapped file on a full file system would raise SIGBUS. Signals are
 * blocked because they interrupt the allocation, which may never succeed under a fast timer. */
static int allocate(int file, int64_t size) {
    struct held_signals held;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (rlim_t)(file_size + size) > limit.rlim_cur)
        return EFBIG;
    signals_hold(&held, 1);
    int code = posix_fallocate(file, file_size, size);
    signals_release(&held);
    return code;
}

int protected_file_grow(int64_t size, char **memory) {
    struct mapping *mapping = malloc(sizeof *mapping);
    void *mapped = MAP_FAILED;
    if (mapping == NULL)
        return ENOMEM;
    int file = get_descriptor();
    int code = file < 0 ? errno : allocate(file, size);
    if (code == 0) {
        mapped = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, file_size);
        code = mapped == MAP_FAILED ? errno : 0;
    }
    release_descriptor(file);
    if (code != 0) {
        free(mapping);
        return code;
    }
    munlock(mapped, (size_t)size); /* after mlockall by the program: locked memory is limited */
    *mapping = (struct mapping){mappings, mapped, (size_t)size};
    mappings = mapping;
    file_size += size;
    *memory = mapped;
    return 0;
}

void protected_file_close(void) {
    for (struct mapping *mapping = mappings, *next; mapping != NULL; mapping = next) {
        next = mapping->next;
        munmap(mapping->memory, mapping->size);
        free(mapping);
    }
    mappings = NULL;
    file_size = 0;
    if (is_ours(descriptor))
        close(descriptor);
    descriptor = -1;
    free(name);
    name = NULL;
}

void protected_file_remove(void) {
    if (name != NULL)
        unlink(name);
}
