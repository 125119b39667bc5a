/* How long one GET after the other takes: get_latency SERVER TRANSPORT BYTES COUNT MEMORY.
 *
 * Memory is "direct", or "registered" with the network. One line: median and 99th percentile in
 * nanoseconds. The same as GetLatency.java does. */
#include <farcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(int status) {
  if (status != FARCACHE_STATUS_OK) {
    fprintf(stderr, "get_latency: %s\n", farcache_status_text(status));
    exit(1);
  }
}

static long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static int ascending(const void *one, const void *other) {
  long a = *(const long *)one, b = *(const long *)other;
  return (a > b) - (a < b);
}

static void measure(farcache_client *client, void *room, size_t bytes, long *times, long count) {
  for (long index = 0; index < count; index++) {
    long start = now_ns();
    farcache_request *request;
    farcache_result result;
    check(farcache_get(client, "key", 3, room, bytes, NULL, &request));
    check(farcache_wait(request));
    check(farcache_request_result(request, &result));
    farcache_request_free(request);
    times[index] = now_ns() - start;
    if (result.value_bytes != bytes) exit(2);
  }
}

int main(int count_of_arguments, char **arguments) {
  if (count_of_arguments != 6) return 2;
  size_t bytes = strtoul(arguments[3], NULL, 10);
  long count = atol(arguments[4]);
  farcache_options *options = farcache_options_new();
  check(farcache_options_set(options, "transport", arguments[2]));
  farcache_client *client;
  check(farcache_client_new(arguments[1], options, &client));
  void *room = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  long *times = calloc(count < 20000 ? 20000 : count, sizeof *times);
  memset(room, 0, bytes);
  farcache_request *request;
  check(farcache_set(client, "key", 3, room, bytes, 0, NULL, &request));
  check(farcache_wait(request));
  farcache_request_free(request);
  farcache_buffer *buffer = NULL;
  if (strcmp(arguments[5], "registered") == 0)
    check(farcache_buffer_register(client, room, bytes, &buffer));
  measure(client, room, bytes, times, bytes < 100000 ? 20000 : count);
  measure(client, room, bytes, times, count);
  qsort(times, count, sizeof *times, ascending);
  printf("%ld %ld\n", times[count / 2], times[count * 99 / 100]);
  check(farcache_buffer_free(buffer));
  farcache_client_free(client);
  farcache_options_free(options);
  free(times);
  free(room);
  return 0;
}
