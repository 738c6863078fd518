/* Output files of downbeat-bench and libdownbeat-preload. An existing file is never overwritten in place: the output
 * goes to a temporary file in the same directory, which is then renamed. So a hard or symbolic link that another user
 * has created does not redirect the output. Call output_create, output_write, output_close. Error numbers are values of
 * errno; 0: no error. */
#ifndef DOWNBEAT_SHARED_OUTPUT_FILE_H
#define DOWNBEAT_SHARED_OUTPUT_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OUTPUT_PATH = 4096,       /* size of paths, bytes */
    OUTPUT_SUFFIX = 16,       /* bytes that a path leaves for the end of the name of a temporary file */
    OUTPUT_MAX_LINKS = 32,    /* links that are followed; more are a loop */
    OUTPUT_MAX_RETRIES = 100, /* names of temporary files that are tried if files with these names exist */
};

struct output_file {
    int file;                    /* descriptor; negative: not open */
    char path[OUTPUT_PATH];      /* the path after all symbolic links */
    char temporary[OUTPUT_PATH]; /* name of the temporary file; "" once it is renamed */
};

/* Returns a message for an error number. */
static inline const char *output_reason(int code) {
    return code == ELOOP ? "it is a symbolic link that another user made; remove it, or choose another file"
                         : strerror(code);
}

/* Returns 1 if a path exists and is no regular file, e.g. a pipe or a device. */
static inline int output_is_special(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Replaces a path that is a symbolic link by its target, if the link belongs to this user or root. Returns 0, or an
 * error number: ELOOP for a link of another user. */
static inline int output_follow(char path[OUTPUT_PATH]) {
    for (int links = 0; links < OUTPUT_MAX_LINKS && !output_is_special(path); ++links) {
        char text[OUTPUT_PATH];
        char next[2 * OUTPUT_PATH];
        struct stat link;
        const int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0)
            return errno == ENOENT ? 0 : errno;
        const ssize_t length = fstat(file, &link) == 0 ? readlinkat(file, "", text, sizeof text - 1) : -1;
        close(file);
        if (length < 0) /* not a link */
            return 0;
        if (link.st_uid != geteuid() && link.st_uid != 0)
            return ELOOP;
        text[length] = '\0';
        const char *slash = text[0] == '/' ? NULL : strrchr(path, '/');
        snprintf(next, sizeof next, "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - path), path, text);
        if (strlen(next) >= OUTPUT_PATH - OUTPUT_SUFFIX)
            return ENAMETOOLONG;
        strcpy(path, next);
    }
    return output_is_special(path) ? 0 : ELOOP;
}

/* Opens a file for output. named = 1: the path is from the user; it may be a pipe or a device, which is written
 * directly, or the user's symbolic link, which is followed. Returns 0 or an error number. */
static inline int output_create(struct output_file *output, const char *path, int named) {
    struct timespec now;
    output->file = -1;
    output->temporary[0] = '\0';
    if (strlen(path) >= OUTPUT_PATH - OUTPUT_SUFFIX)
        return ENAMETOOLONG;
    strcpy(output->path, path);
    const int code = named ? output_follow(output->path) : 0;
    if (code != 0)
        return code;
    if (named && output_is_special(output->path)) {
        struct stat status;
        output->file = open(output->path, O_WRONLY | O_CLOEXEC);
        if (output->file < 0)
            return errno;
        const int was_replaced = fstat(output->file, &status) == 0 && S_ISREG(status.st_mode); /* since the check */
        return was_replaced ? ELOOP : 0;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    for (long tries = 0; output->file < 0; ++tries) {
        const unsigned long number = (unsigned long)(now.tv_nsec + tries) ^ (unsigned long)getpid() << 12U;
        snprintf(output->temporary, sizeof output->temporary, "%.*s.%08lx", OUTPUT_PATH - OUTPUT_SUFFIX, output->path,
                 number & 0xffffffffU);
        output->file = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (output->file < 0 && (errno != EEXIST || tries == OUTPUT_MAX_RETRIES)) {
            output->temporary[0] = '\0';
            return errno;
        }
    }
    return 0;
}

/* Renames the temporary file to its path. Needed only for files that are written in pieces and must survive a crash;
 * else output_close does it. Returns 0 or an error number. */
static inline int output_place(struct output_file *output) {
    if (output->temporary[0] != '\0' && rename(output->temporary, output->path) != 0)
        return errno;
    output->temporary[0] = '\0';
    return 0;
}

/* Writes `size` bytes. Returns 0 or an error number. */
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

/* Closes the file. `code`: 0, or the error number if the content is incomplete; then the temporary file is removed.
 * Returns `code` if not 0, else 0 or an error number. */
static inline int output_close(struct output_file *output, int code) {
    if (output->file < 0)
        return code;
    /* Quotas and file servers report some errors only in fsync, which pipes and some file systems lack. */
    if (code == 0 && fsync(output->file) != 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP &&
        errno != EROFS)
        code = errno;
    if (close(output->file) != 0 && code == 0)
        code = errno;
    output->file = -1;
    if (code == 0)
        code = output_place(output);
    if (code != 0 && output->temporary[0] != '\0')
        unlink(output->temporary);
    return code;
}

#endif
