/*
 * Preloaded into a server: once the file named by FAILING_SSD exists, nothing can be written to an SSD any more, nor made
 * durable. Where it says "PATH" inside, that is so for the SSD of this path only. Where it says "stall", whoever writes waits
 * until it does so no more.
 *
 * There is no io_uring, so that all writes go through the functions below.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* What the file says; 0 where there is none. */
static int read_order(char *path, int size)
{
    const char *order = getenv("FAILING_SSD");
    FILE *file = order ? fopen(order, "r") : NULL;
    if (!file)
        return 0;
    if (!fgets(path, size, file))
        path[0] = '\0';
    fclose(file);
    path[strcspn(path, "\n")] = '\0';
    return 1;
}

static int has_failed(int descriptor)
{
    char path[PATH_MAX] = "";
    int has_order = read_order(path, sizeof path);
    while (has_order && !strcmp(path, "stall")) {
        usleep(1000);
        has_order = read_order(path, sizeof path);
    }
    if (!has_order)
        return 0;
    struct stat mine, its;
    if (path[0] == '\0')
        return 1;
    if (fstat(descriptor, &mine) || stat(path, &its))
        return 0;
    return mine.st_dev == its.st_dev && mine.st_ino == its.st_ino;
}

static int fail(void)
{
    errno = EIO;
    return -1;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real)
        real = dlsym(RTLD_NEXT, "pwrite64");
    return has_failed(descriptor) ? fail() : real(descriptor, bytes, count, offset);
}

int fdatasync(int descriptor)
{
    static int (*real)(int);
    if (!real)
        real = dlsym(RTLD_NEXT, "fdatasync");
    return has_failed(descriptor) ? fail() : real(descriptor);
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    if (!real)
        real = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_io_uring_setup) {
        errno = ENOSYS;
        return -1;
    }
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int place = 0; place < 6; place++)
        arguments[place] = va_arg(list, long);
    va_end(list);
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
