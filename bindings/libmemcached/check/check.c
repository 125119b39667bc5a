/*
 * libfarcache-check.so: looks whether a program that farcache-run started really gets Farcache's libmemcached.
 *
 * The loader calls this library (rtld-audit(7), LD_AUDIT) for each object that it loads, also later by dlopen. One that is a
 * libmemcached, but not Farcache's, is a copy that the program has brought: a Python wheel's, or one found by a run path. With
 * LD_PRELOAD that does not matter, as the functions of what is loaded first are found first.
 *
 * farcache-run sets:
 *   FARCACHE_RUN_LIBRARIES  the folder with Farcache's libraries
 *   FARCACHE_RUN_DEMANDS    "fabric": a program that goes other ways is ended; otherwise it is warned of
 *   FARCACHE_RUN_PROCESS    the number of the process that it has become
 */

#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EXIT_OF_FARCACHE_RUN = 125 };

static int ours_is_loaded;
static int has_warned;

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static int demands_fabric(void)
{
    return strcmp(setting("FARCACHE_RUN_DEMANDS"), "fabric") == 0;
}

/* Writes the texts up to the null pointer as one line, without the buffers of the program. */
static void say(const char *const *texts)
{
    struct iovec parts[8];
    int count = 0;
    for (; texts[count] && count < 8; count++) {
        parts[count].iov_base = (void *)texts[count];
        parts[count].iov_len = strlen(texts[count]);
    }
    ssize_t written = writev(STDERR_FILENO, parts, count);
    (void)written;
}

/* Whether a file's name is libmemcached's, also with what a wheel adds to it: libmemcached-f7e872de.so.11. */
static int is_libmemcached(const char *path)
{
    static const char name[] = "libmemcached";
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    size_t length = sizeof name - 1;
    return strncmp(file, name, length) == 0 && (file[length] == '.' || file[length] == '-');
}

static int is_ours(const char *path)
{
    const char *folder = setting("FARCACHE_RUN_LIBRARIES");
    size_t length = strlen(folder);
    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

static void found_another(const char *path)
{
    int is_failure = demands_fabric();
    const char *texts[] = {
        "farcache-run: ", is_failure ? "" : "warning: ",
        "the program brings a libmemcached of its own, ", path,
        ", and does not use Farcache's; start it with --preload\n", NULL,
    };
    say(texts);
    if (is_failure)
        _exit(EXIT_OF_FARCACHE_RUN);
}

unsigned int la_version(unsigned int version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    (void)space;
    (void)cookie;
    if (!is_libmemcached(map->l_name))
        return 0;
    if (is_ours(map->l_name)) {
        ours_is_loaded = 1;
    } else if (!ours_is_loaded && !has_warned) {
        has_warned = 1;
        found_another(map->l_name);
    }
    return 0;
}

/* At the end of the process that farcache-run has become. What that has started is not known here. */
__attribute__((destructor)) static void at_the_end(void)
{
    if (ours_is_loaded || has_warned || !demands_fabric())
        return;
    if (atol(setting("FARCACHE_RUN_PROCESS")) != (long)getpid())
        return;
    const char *texts[] = {
        "farcache-run: warning: the program itself has loaded no libmemcached; nothing of what it did went over the fabric\n",
        NULL,
    };
    say(texts);
}
