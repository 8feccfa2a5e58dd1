/* Loaded before the C library (ld.so(8), LD_PRELOAD): the calls by which files below one folder are
 * changed are counted, and one of them, or all from one on, fail with an error as a disk gives it.
 * A write that fails has written half of what it was to. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char below[PATH_MAX];
static long left = -1;  /* calls before the first that fails; -1: none does */
static int is_lasting, with_errno, has_failed;

/* Begin: after `calls` calls one fails, and with `lasting` all that follow it. */
void faults_begin(const char *folder, long calls, int lasting, int number)
{
    snprintf(below, sizeof below, "%s/", folder);
    is_lasting = lasting;
    with_errno = number;
    has_failed = 0;
    __atomic_store_n(&left, calls, __ATOMIC_SEQ_CST);
}

/* End; whether a call failed. */
int faults_end(void)
{
    __atomic_store_n(&left, -1, __ATOMIC_SEQ_CST);
    return has_failed;
}

static int fails(const char *path)
{
    long now;

    if (__atomic_load_n(&left, __ATOMIC_SEQ_CST) < 0 || strncmp(path, below, strlen(below)) != 0)
        return 0;
    if (has_failed) {
        if (!is_lasting)
            return 0;
    } else {
        now = __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
        if (now > 0)
            return 0;
        __atomic_store_n(&left, 0, __ATOMIC_SEQ_CST);
        has_failed = 1;
    }
    errno = with_errno;
    return 1;
}

static int fails_of_fd(int fd)
{
    char link[64], path[PATH_MAX];
    ssize_t size;
    int before = errno;

    if (__atomic_load_n(&left, __ATOMIC_SEQ_CST) < 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    errno = before;
    if (size < 0)
        return 0;
    path[size] = 0;
    return fails(path);
}

static int fails_at(int folder, const char *name)
{
    char link[64], path[2 * PATH_MAX];
    ssize_t size;
    int before = errno;

    if (__atomic_load_n(&left, __ATOMIC_SEQ_CST) < 0)
        return 0;
    if (name[0] == '/' || folder == AT_FDCWD)
        return fails(name);
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    size = readlink(link, path, PATH_MAX - 1);
    errno = before;
    if (size < 0)
        return 0;
    snprintf(path + size, sizeof path - size, "/%s", name);
    return fails(path);
}

#define NEXT(type, name, parameters)                                   \
    static type (*next) parameters;                                    \
    if (!next)                                                         \
        next = (type (*) parameters)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *from, size_t size)
{
    NEXT(ssize_t, write, (int, const void *, size_t));
    if (!fails_of_fd(fd))
        return next(fd, from, size);
    next(fd, from, size / 2);
    errno = with_errno;
    return -1;
}

#define PWRITE(name)                                                   \
    ssize_t name(int fd, const void *from, size_t size, off_t place)   \
    {                                                                  \
        NEXT(ssize_t, name, (int, const void *, size_t, off_t));       \
        if (!fails_of_fd(fd))                                          \
            return next(fd, from, size, place);                        \
        next(fd, from, size / 2, place);                               \
        errno = with_errno;                                            \
        return -1;                                                     \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define OF_FD(name)                                                    \
    int name(int fd)                                                   \
    {                                                                  \
        NEXT(int, name, (int));                                        \
        return fails_of_fd(fd) ? -1 : next(fd);                        \
    }
OF_FD(fsync)
OF_FD(fdatasync)

#define TRUNCATE(name)                                                 \
    int name(int fd, off_t size)                                       \
    {                                                                  \
        NEXT(int, name, (int, off_t));                                 \
        return fails_of_fd(fd) ? -1 : next(fd, size);                  \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define OF_PATH(name)                                                  \
    int name(const char *path)                                         \
    {                                                                  \
        NEXT(int, name, (const char *));                               \
        return fails(path) ? -1 : next(path);                          \
    }
OF_PATH(unlink)
OF_PATH(rmdir)

int unlinkat(int folder, const char *path, int flags)
{
    NEXT(int, unlinkat, (int, const char *, int));
    return fails_at(folder, path) ? -1 : next(folder, path, flags);
}

#define WITH_MODE(name)                                                \
    int name(const char *path, mode_t mode)                            \
    {                                                                  \
        NEXT(int, name, (const char *, mode_t));                       \
        return fails(path) ? -1 : next(path, mode);                    \
    }
WITH_MODE(mkdir)
WITH_MODE(chmod)

#define OF_TWO(name)                                                   \
    int name(const char *one, const char *other)                       \
    {                                                                  \
        NEXT(int, name, (const char *, const char *));                 \
        return fails(other) ? -1 : next(one, other);                   \
    }
OF_TWO(rename)
OF_TWO(link)
OF_TWO(symlink)

int linkat(int from, const char *one, int to, const char *other, int flags)
{
    NEXT(int, linkat, (int, const char *, int, const char *, int));
    return fails_at(to, other) ? -1 : next(from, one, to, other, flags);
}

int renameat2(int from, const char *one, int to, const char *other, unsigned int flags)
{
    NEXT(int, renameat2, (int, const char *, int, const char *, unsigned int));
    return fails_at(to, other) ? -1 : next(from, one, to, other, flags);
}

ssize_t sendfile(int to, int from, off_t *place, size_t size)
{
    NEXT(ssize_t, sendfile, (int, int, off_t *, size_t));
    return fails_of_fd(to) ? -1 : next(to, from, place, size);
}

#define IS_CHANGE(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))
#define MODE(last)                                                     \
    va_list rest;                                                      \
    va_start(rest, last);                                              \
    mode_t mode = last & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest)

#define OPEN(name)                                                     \
    int name(const char *path, int flags, ...)                         \
    {                                                                  \
        MODE(flags);                                                   \
        NEXT(int, name, (const char *, int, ...));                     \
        return IS_CHANGE(flags) && fails(path) ? -1 : next(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                   \
    int name(int folder, const char *path, int flags, ...)             \
    {                                                                  \
        MODE(flags);                                                   \
        NEXT(int, name, (int, const char *, int, ...));                \
        return IS_CHANGE(flags) && fails_at(folder, path) ? -1 : next(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)
