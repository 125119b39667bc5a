/* Stores and reads values while servers die. Its arguments are the text for memcached(), and how many values there are.
 *
 * It says "ready" when all values are there, and waits for a line on standard input; then it reads and writes on, while servers are
 * killed. Every read must bring the last value written: it ends with "everything holds", or says what did not. */

#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server that dies in the middle of a write may leave it unknown whether that took effect: it is written again. */
#define TRIES_MAX 5

static int failures;
static size_t lengths[] = {0, 1, 100, 4095, 4096, 32768, 100000, 300001};

static size_t length_of(int number)
{
    return lengths[number % (sizeof lengths / sizeof *lengths)];
}

static char *value_of(int number, int generation)
{
    size_t length = length_of(number);
    char *value = malloc(length + 1);
    for (size_t at = 0; at < length; at++)
        value[at] = (char)(at * 31 + number * 7 + generation * 91);
    return value;
}

static void wrong(memcached_st *handle, const char *what, int number, memcached_return_t code)
{
    failures++;
    printf("%s %d: %s (%s)\n", what, number, memcached_strerror(handle, code), memcached_last_error_message(handle));
}

static void set(memcached_st *handle, int number, int generation)
{
    char key[32], *value = value_of(number, generation);
    int key_length = snprintf(key, sizeof key, "key-%d", number);
    memcached_return_t code = MEMCACHED_MAXIMUM_RETURN;
    for (int try = 0; try < TRIES_MAX && code != MEMCACHED_SUCCESS; try++)
        code = memcached_set(handle, key, key_length, value, length_of(number), 0, 1000 + generation);
    if (code != MEMCACHED_SUCCESS)
        wrong(handle, "set", number, code);
    free(value);
}

static void check(memcached_st *handle, const char *what, int number, int generation, const char *found, size_t length,
                  uint32_t flags, memcached_return_t code)
{
    char *value = value_of(number, generation);
    if (code != MEMCACHED_SUCCESS)
        wrong(handle, what, number, code);
    else if (length != length_of(number) || memcmp(found, value, length) != 0 || flags != 1000u + generation)
        printf("%s %d: another value\n", what, number), failures++;
    free(value);
}

static void get(memcached_st *handle, int number, int generation)
{
    char key[32];
    size_t length;
    uint32_t flags = 0;
    memcached_return_t code;
    int key_length = snprintf(key, sizeof key, "key-%d", number);
    char *found = memcached_get(handle, key, key_length, &length, &flags, &code);
    check(handle, "get", number, generation, found, length, flags, code);
    free(found);
}

static void get_all(memcached_st *handle, int count, int generation)
{
    char texts[count][32];
    const char *keys[count];
    size_t key_lengths[count];
    int seen = 0;
    for (int number = 0; number < count; number++) {
        keys[number] = texts[number];
        key_lengths[number] = snprintf(texts[number], sizeof texts[number], "key-%d", number);
    }
    memcached_return_t code = memcached_mget(handle, keys, key_lengths, count);
    if (code != MEMCACHED_SUCCESS)
        wrong(handle, "mget", count, code);
    memcached_result_st *result;
    while ((result = memcached_fetch_result(handle, NULL, &code)) != NULL) {
        int number = atoi(memcached_result_key_value(result) + strlen("key-"));
        check(handle, "fetch", number, generation, memcached_result_value(result), memcached_result_length(result),
              memcached_result_flags(result), MEMCACHED_SUCCESS);
        memcached_result_free(result);
        seen++;
    }
    if (seen != count || (code != MEMCACHED_END && code != MEMCACHED_NOTFOUND))
        wrong(handle, "fetched", seen, code);
}

/* What no policy knows is refused, in words, and changes nothing. */
static void refusals(memcached_st *handle)
{
    uint64_t number;
    struct {
        const char *name;
        memcached_return_t code;
    } refused[] = {
        {"set by key", memcached_set_by_key(handle, "group", 5, "key-1", 5, "x", 1, 0, 0)},
        {"increment by key", memcached_increment_by_key(handle, "group", 5, "key-1", 5, 1, &number)},
        {"touch by key", memcached_touch_by_key(handle, "group", 5, "key-1", 5, 100)},
        {"delete by key", memcached_delete_by_key(handle, "group", 5, "key-1", 5, 0)},
    };
    for (size_t at = 0; at < sizeof refused / sizeof *refused; at++)
        if (refused[at].code != MEMCACHED_NOT_SUPPORTED)
            wrong(handle, refused[at].name, 1, refused[at].code);
    memcached_return_t code = memcached_touch_by_key(handle, "group", 5, "key-1", 5, 100);
    if (code != MEMCACHED_NOT_SUPPORTED || !strstr(memcached_last_error_message(handle), "lies on several servers"))
        wrong(handle, "the reason", 1, code);
}

/* Operations that depend on what is there, while servers die: of one whose end is unknown either may have happened. */
static void wanted(memcached_st *handle, const char *what, memcached_return_t code, memcached_return_t expected)
{
    if (code != expected && code != MEMCACHED_CONNECTION_FAILURE)
        wrong(handle, what, expected, code);
}

static void text_is(memcached_st *handle, const char *key, const char *expected, const char *other)
{
    size_t length;
    uint32_t flags;
    memcached_return_t code;
    char *found = memcached_get(handle, key, strlen(key), &length, &flags, &code);
    if (code != MEMCACHED_SUCCESS || (strncmp(found, expected, length) != 0 && strncmp(found, other, length) != 0))
        wrong(handle, key, (int)length, code);
    free(found);
}

static uint64_t counted;

static void changes(memcached_st *handle, int round)
{
    char key[32];
    int length = snprintf(key, sizeof key, "change-%d", round);
    uint64_t number = 0;
    wanted(handle, "replace what is absent", memcached_replace(handle, key, length, "x", 1, 0, 0), MEMCACHED_NOTSTORED);
    wanted(handle, "add", memcached_add(handle, key, length, "7", 1, 0, 0), MEMCACHED_SUCCESS);
    wanted(handle, "add again", memcached_add(handle, key, length, "8", 1, 0, 0), MEMCACHED_NOTSTORED);
    text_is(handle, key, "7", "7");
    wanted(handle, "append", memcached_append(handle, key, length, "1", 1, 0, 0), MEMCACHED_SUCCESS);
    text_is(handle, key, "71", "7");
    memcached_return_t code = memcached_increment(handle, "count", 5, 1, &number);
    if (code == MEMCACHED_SUCCESS && (number <= counted || number > counted + 2))
        wrong(handle, "increment", (int)number, code);
    wanted(handle, "increment", code, MEMCACHED_SUCCESS);
    counted = code == MEMCACHED_SUCCESS ? number : counted;
    wanted(handle, "touch", memcached_touch(handle, key, length, 1000), MEMCACHED_SUCCESS);
    wanted(handle, "cas", memcached_cas(handle, key, length, "9", 1, 0, 0, 7), MEMCACHED_DATA_EXISTS);
}

static void deletions(memcached_st *handle, int number)
{
    char key[32];
    int key_length = snprintf(key, sizeof key, "key-%d", number);
    memcached_return_t there = memcached_exist(handle, key, key_length);
    memcached_return_t deleted = memcached_delete(handle, key, key_length, 0);
    for (int try = 1; try < TRIES_MAX && deleted != MEMCACHED_SUCCESS; try++)
        if ((deleted = memcached_delete(handle, key, key_length, 0)) == MEMCACHED_NOTFOUND)
            deleted = MEMCACHED_SUCCESS;
    memcached_return_t again = memcached_delete(handle, key, key_length, 0);
    memcached_return_t gone = memcached_exist(handle, key, key_length);
    if (there != MEMCACHED_SUCCESS || deleted != MEMCACHED_SUCCESS)
        wrong(handle, "delete", number, deleted);
    if (again != MEMCACHED_NOTFOUND || gone != MEMCACHED_NOTFOUND)
        wrong(handle, "deleted", number, again);
}

int main(int argc, char **argv)
{
    char line[16];
    int count = atoi(argv[2]), generation = 0;
    memcached_st *handle = memcached(argv[1], strlen(argv[1]));
    if (argc != 3 || !handle)
        return puts("no handle"), 1;
    for (int number = 0; number < count; number++)
        set(handle, number, generation);
    refusals(handle);
    wanted(handle, "count", memcached_set(handle, "count", 5, "0", 1, 0, 0), MEMCACHED_SUCCESS);
    for (int number = 0; number < count; number++)
        get(handle, number, generation);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        for (int number = 0; number < count; number++)
            get(handle, number, generation);
        get_all(handle, count, generation);
        generation++;
        changes(handle, generation);
        for (int number = 0; number < count; number++) {
            set(handle, number, generation);
            get(handle, number, generation);
        }
        deletions(handle, 3);
        set(handle, 3, generation);
        get_all(handle, count, generation);
        puts("ready");
        fflush(stdout);
    }
    puts(failures ? "something does not hold" : "everything holds");
    memcached_free(handle);
    return 0;
}
