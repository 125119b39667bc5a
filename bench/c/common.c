#define _GNU_SOURCE
#include "common.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/* The servers as they were given, for messages. */
static const char *servers_given = "";

static const char *advice(memcached_return_t outcome) {
  switch (outcome) {
  case MEMCACHED_NOTFOUND:
  case MEMCACHED_MEMORY_ALLOCATION_FAILURE:
  case MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE: return "; the server's memory (-m) may be too small for all values";
  case MEMCACHED_AUTH_FAILURE:
  case MEMCACHED_AUTH_PROBLEM: return "; authentication required: this program cannot log in";
  case MEMCACHED_CONNECTION_FAILURE:
  case MEMCACHED_HOST_LOOKUP_FAILURE:
  case MEMCACHED_ERRNO:
  case MEMCACHED_SOME_ERRORS:
  case MEMCACHED_SERVER_TEMPORARILY_DISABLED:
  case MEMCACHED_SERVER_MARKED_DEAD: return "; is a server running there? (--servers=HOST:PORT)";
  default: return "";
  }
}

void check(memcached_st *memc, memcached_return_t outcome, const char *what) {
  if (!memcached_failed(outcome))
    return;
  const char *name = memcached_strerror(memc, outcome), *more = memcached_last_error_message(memc);
  if (more && *more && outcome == memcached_last_error(memc))
    fail("%s: %s: %s%s", servers_given, what, more, advice(outcome));
  fail("%s: %s: %s%s", servers_given, what, name, advice(outcome));
}

void check_stored(memcached_st *memc, memcached_return_t outcome, size_t bytes) {
  if (outcome == MEMCACHED_E2BIG) {
    /* Keys and headers count too. */
    size_t megabytes = (bytes >> 20) + 1;
    fail("%s: values of %zu bytes need a server with a larger limit: farcached -I %zum -m %zu", servers_given, bytes, megabytes,
         megabytes * 16 < 1024 ? 1024 : megabytes * 16);
  }
  check(memc, outcome, "storing");
}

void refuse_words(int count, char **words) {
  if (optind < count)
    fail("'%s' is not an option; --help lists them", words[optind]);
}

void need_farcache(void) {
  /* Looked for by name: the loader itself would only say that a symbol is missing. */
  if (!dlsym(RTLD_DEFAULT, "memcached_request_create"))
    fail("this libmemcached has no non-blocking calls; start the program by farcache-run");
}

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

void pin(int cpu) {
  if (cpu < 0)
    return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t) cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set))
    fail("cannot run on core %d: %s", cpu, strerror(errno));
}

size_t parse_size(const char *text) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  if (end == text)
    fail("'%s' is not a size", text);
  switch (*end) {
  case 'K': case 'k': number <<= 10; end++; break;
  case 'M': case 'm': number <<= 20; end++; break;
  case 'G': case 'g': number <<= 30; end++; break;
  }
  if (*end)
    fail("'%s' is not a size such as 64, 4K, 1M or 2G", text);
  return (size_t) number;
}

int parse_core(const char *text) {
  char *end;
  long number = strtol(text, &end, 10);
  if (end == text || *end || number < 0 || number >= CPU_SETSIZE)
    fail("'%s' is not the number of a core", text);
  return (int) number;
}

uint64_t parse_count(const char *text, const char *option) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  if (end == text || *end || number == 0)
    fail("%s is a number from 1 on, not '%s'", option, text);
  return number;
}

memcached_st *connect_to(const char *servers, bool binary) {
  servers_given = servers;
  memcached_st *memc = memcached_create(NULL);
  memcached_server_st *list = memcached_servers_parse(servers);
  if (!memc || !list)
    fail("'%s' is not a list of servers", servers);
  check(memc, memcached_server_push(memc, list), "adding the servers");
  memcached_server_list_free(list);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, binary);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 60000);
  return memc;
}

latencies_st latencies_create(size_t room) {
  latencies_st made = {.ns = malloc(room * sizeof(uint64_t)), .count = 0, .room = room};
  if (!made.ns)
    fail("no memory for %zu latencies", room);
  return made;
}

void latencies_add(latencies_st *of, uint64_t ns) {
  if (of->count < of->room)
    of->ns[of->count++] = ns;
}

void latencies_free(latencies_st *of) {
  free(of->ns);
}

static int by_size(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *) left, b = *(const uint64_t *) right;
  return (a > b) - (a < b);
}

summary_st latencies_summary(latencies_st *of) {
  summary_st sum = {0};
  if (of->count == 0)
    return sum;
  qsort(of->ns, of->count, sizeof of->ns[0], by_size);
  double total = 0;
  for (size_t at = 0; at < of->count; at++)
    total += (double) of->ns[at];
  sum.mean = total / (double) of->count / 1e3;
  sum.p50 = (double) of->ns[of->count / 2] / 1e3;
  sum.p99 = (double) of->ns[of->count * 99 / 100] / 1e3;
  sum.p999 = (double) of->ns[of->count * 999 / 1000] / 1e3;
  sum.max = (double) of->ns[of->count - 1] / 1e3;
  return sum;
}

uint64_t random_next(random_st *of) {
  uint64_t x = of->state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  of->state = x;
  return x * 0x2545f4914f6cdd1dull;
}

keys_st keys_create(size_t count, bool zipf) {
  keys_st made = {.random = {.state = 0x9e3779b97f4a7c15ull}, .count = count, .shares = NULL};
  if (!zipf)
    return made;
  made.shares = malloc(count * sizeof(double));
  if (!made.shares)
    fail("no memory for %zu keys", count);
  double sum = 0;
  for (size_t rank = 0; rank < count; rank++)
    made.shares[rank] = sum += 1 / pow((double) rank + 1, 0.99);
  for (size_t rank = 0; rank < count; rank++)
    made.shares[rank] /= sum;
  return made;
}

size_t keys_next(keys_st *of) {
  uint64_t number = random_next(&of->random);
  if (!of->shares)
    return number % of->count;
  double wanted = (double) (number >> 11) * 0x1p-53;
  size_t low = 0, high = of->count - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (of->shares[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  /* Popular keys are not those that were stored first. */
  return (low * 0x9e3779b1u) % of->count;
}

void keys_free(keys_st *of) {
  free(of->shares);
}

void write_key(char *key, size_t number) {
  memcpy(key, "ohb-key-", 8);
  for (int at = KEY_BYTES - 1; at >= 8; at--, number /= 10)
    key[at] = (char) ('0' + number % 10);
}

void fill_value(char *value, size_t bytes, size_t number) {
  memset(value, (int) ('a' + number % 26), bytes);
  if (bytes >= sizeof(uint64_t)) {
    uint64_t mark = number;
    memcpy(value, &mark, sizeof mark);
  }
}

bool is_value(const char *value, size_t bytes, size_t number) {
  if (bytes == 0)
    return true;
  uint64_t mark = number;
  if (bytes >= sizeof mark && memcmp(value, &mark, sizeof mark) != 0)
    return false;
  return bytes <= sizeof mark || value[bytes - 1] == (char) ('a' + number % 26);
}
