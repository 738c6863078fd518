/* Files that any part of Downbeat writes. An existing file is never written into: a new one is made beside it, under
 * an unused name, and renamed. So a link that another user plants, hard or symbolic, does not lead to another file. */
#ifndef DOWNBEAT_SHARED_OUTPUT_FILE_H
#define DOWNBEAT_SHARED_OUTPUT_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUT_PATH = 4096 };

struct output_file {
    int file; /* descriptor; below 0: none */
    char path[OUTPUT_PATH];
    char fresh[OUTPUT_PATH]; /* until it is renamed */
};

/* An error number in words. */
static inline const char *output_reason(int code) {
    return code == ELOOP ? "it is a symbolic link that another user made; remove it, or choose another file"
                         : strerror(code);
}

/* Whether a path leads to a pipe or a device. */
static inline int output_is_special(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

/* Follows symbolic links of this user or the system. Returns 0 or an error number. */
static inline int output_follow(char path[OUTPUT_PATH]) {
    for (int links = 0; links < 32 && !output_is_special(path); ++links) {
        char text[OUTPUT_PATH];
        char next[2 * OUTPUT_PATH];
        struct stat link;
        const int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0)
            return errno == ENOENT ? 0 : errno;
        const ssize_t length = fstat(file, &link) == 0 ? readlinkat(file, "", text, sizeof text - 1) : -1;
        close(file);
        if (length < 0) /* the end */
            return 0;
        if (link.st_uid != geteuid() && link.st_uid != 0)
            return ELOOP;
        text[length] = '\0';
        const char *slash = text[0] == '/' ? NULL : strrchr(path, '/');
        snprintf(next, sizeof next, "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - path), path, text);
        if (strlen(next) >= OUTPUT_PATH - 16)
            return ENAMETOOLONG;
        strcpy(path, next);
    }
    return output_is_special(path) ? 0 : ELOOP;
}

/* Begins to write a file. `named`: by a user, who may name a pipe or a device, which are written to as they are, or a
 * symbolic link of his own, which stays one. Returns 0 or an error number. */
static inline int output_create(struct output_file *output, const char *path, int named) {
    struct timespec now;
    output->file = -1;
    output->fresh[0] = '\0';
    if (strlen(path) >= OUTPUT_PATH - 16)
        return ENAMETOOLONG;
    strcpy(output->path, path);
    const int code = named ? output_follow(output->path) : 0;
    if (code != 0)
        return code;
    if (named && output_is_special(output->path)) {
        struct stat found;
        output->file = open(output->path, O_WRONLY | O_CLOEXEC);
        if (output->file < 0)
            return errno;
        return fstat(output->file, &found) == 0 && S_ISREG(found.st_mode) ? ELOOP : 0; /* just replaced */
    }
    clock_gettime(CLOCK_REALTIME, &now);
    for (long tries = 0; output->file < 0; ++tries) {
        const unsigned long number = (unsigned long)(now.tv_nsec + tries) ^ (unsigned long)getpid() << 12U;
        snprintf(output->fresh, sizeof output->fresh, "%.*s.%08lx", OUTPUT_PATH - 16, output->path,
                 number & 0xffffffffU);
        output->file = open(output->fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (output->file < 0 && (errno != EEXIST || tries == 100)) {
            output->fresh[0] = '\0';
            return errno;
        }
    }
    return 0;
}

/* Gives the file its name. output_close does it unless it is done: what is written bit by bit is there if a crash ends
 * the program. */
static inline int output_place(struct output_file *output) {
    if (output->fresh[0] != '\0' && rename(output->fresh, output->path) != 0)
        return errno;
    output->fresh[0] = '\0';
    return 0;
}

static inline int output_write(const struct output_file *output, const char *data, size_t size) {
    while (size > 0) {
        const ssize_t written = write(output->file, data, size);
        if (written < 0 && errno != EINTR)
            return errno;
        data += written < 0 ? 0 : written;
        size -= written < 0 ? 0 : (size_t)written;
    }
    return 0;
}

/* Ends it. `code`: 0, or why the content is not complete; nothing is left under a fresh name then. Returns 0 or an
 * error number, `code` if there is one. */
static inline int output_close(struct output_file *output, int code) {
    if (output->file < 0)
        return code;
    /* Quotas and file servers report some errors only here. Pipes, and some file systems, have no fsync. */
    if (code == 0 && fsync(output->file) != 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP &&
        errno != EROFS)
        code = errno;
    if (close(output->file) != 0 && code == 0)
        code = errno;
    output->file = -1;
    if (code == 0)
        code = output_place(output);
    if (code != 0 && output->fresh[0] != '\0')
        unlink(output->fresh);
    return code;
}

#endif
