/* How long a GET takes through libfarcache: get HOST:PORT KEY COUNT prints the nanoseconds of each of COUNT calls in a row. */

#include <farcache.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* One GET as a program in C writes it; 0 where it succeeds. */
static int get(farcache_client *client, const char *key)
{
    char room[65536];
    farcache_request *request;
    if (farcache_get(client, key, strlen(key), room, sizeof room, NULL, &request) != FARCACHE_STATUS_OK)
        return 1;
    farcache_status status = farcache_wait(request);
    farcache_result result;
    farcache_request_result(request, &result);
    farcache_request_free(request);
    return status != FARCACHE_STATUS_OK || result.value_bytes == 0;
}

int main(int argc, char **argv)
{
    farcache_client *client;
    if (argc != 4 || farcache_client_new(argv[1], NULL, &client) != FARCACHE_STATUS_OK)
        return 2;
    long count = atol(argv[3]);
    uint64_t *took_ns = calloc((size_t)count, sizeof *took_ns);
    for (long number = -count / 10; number < count; number++) {
        uint64_t start_ns = now_ns();
        if (get(client, argv[2]))
            return 1;
        if (number >= 0)
            took_ns[number] = now_ns() - start_ns;
    }
    for (long number = 0; number < count; number++)
        printf("%llu\n", (unsigned long long)took_ns[number]);
    farcache_client_free(client);
    return 0;
}
