/* memget: how long memcached_get takes, one at a time. An ordinary program of libmemcached: started as it is it uses the
   system's library, started by farcache-run it uses Farcache's. */
#include "common.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: memget [OPTION...]\n"
    "Measures memcached_get in a closed loop: the next begins when the one before has ended.\n\n"
    "  --servers=HOST:PORT,...   or --server; default 127.0.0.1:11211\n"
    "  --size=SIZE               of the values: 64 (default), 4K, 1M, ...\n"
    "  --iterations=COUNT        gets that are measured, after a tenth of that: 100000\n"
    "  --keys=COUNT              1000\n"
    "  --binary                  libmemcached's binary protocol instead of its text protocol\n"
    "  --cpu=NUMBER              run on this core\n"
    "  --json                    print JSON\n";

typedef struct {
  const char *servers;
  size_t size, iterations, keys;
  bool binary, json;
  int cpu;
} options_st;

static options_st read_options(int count, char **words) {
  options_st options = {.servers = "127.0.0.1:11211", .size = 64, .iterations = 100000, .keys = 1000, .cpu = -1};
  static const struct option known[] = {
      {"servers", 1, NULL, 's'}, {"size", 1, NULL, 'l'}, {"iterations", 1, NULL, 'n'}, {"keys", 1, NULL, 'k'},
      {"binary", 0, NULL, 'b'},  {"cpu", 1, NULL, 'c'},  {"json", 0, NULL, 'j'},       {"help", 0, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
    switch (option) {
    case 's': options.servers = optarg; break;
    case 'l': options.size = parse_size(optarg); break;
    case 'n': options.iterations = parse_count(optarg, "--iterations"); break;
    case 'k': options.keys = parse_count(optarg, "--keys"); break;
    case 'b': options.binary = true; break;
    case 'c': options.cpu = parse_core(optarg); break;
    case 'j': options.json = true; break;
    case 'h': fputs(usage, stdout); exit(0);
    default: fputs(usage, stderr); exit(2);
    }
  }
  refuse_words(count, words);
  return options;
}

static void store(memcached_st *memc, const options_st *options) {
  char key[KEY_BYTES], *value = malloc(options->size + 1);
  for (size_t number = 0; number < options->keys; number++) {
    write_key(key, number);
    fill_value(value, options->size, number);
    check_stored(memc, memcached_set(memc, key, sizeof key, value, options->size, 0, 0), options->size);
  }
  free(value);
}

static void get(memcached_st *memc, const options_st *options, size_t number) {
  char key[KEY_BYTES];
  write_key(key, number);
  size_t length;
  uint32_t flags;
  memcached_return_t outcome;
  char *value = memcached_get(memc, key, sizeof key, &length, &flags, &outcome);
  check(memc, outcome, "getting");
  if (length != options->size || !is_value(value, length, number))
    fail("the value of key %zu is not the one that was stored", number);
  free(value);
}

int main(int count, char **words) {
  options_st options = read_options(count, words);
  pin(options.cpu);
  memcached_st *memc = connect_to(options.servers, options.binary);
  store(memc, &options);
  keys_st keys = keys_create(options.keys, false);
  for (size_t turn = 0; turn < options.iterations / 10; turn++)
    get(memc, &options, keys_next(&keys));
  latencies_st latencies = latencies_create(options.iterations);
  uint64_t begin = now_ns(), before = begin;
  for (size_t turn = 0; turn < options.iterations; turn++) {
    get(memc, &options, keys_next(&keys));
    uint64_t after = now_ns();
    latencies_add(&latencies, after - before);
    before = after;
  }
  double seconds = (double) (before - begin) / 1e9;
  summary_st sum = latencies_summary(&latencies);
  printf(options.json ? "{\"size\": %zu, \"gets_per_s\": %.0f, \"mean_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, "
                        "\"p999_us\": %.2f, \"max_us\": %.2f}\n"
                      : "%zu bytes: %.0f gets/s, latency in us: mean %.2f, p50 %.2f, p99 %.2f, p99.9 %.2f, max %.2f\n",
         options.size, (double) options.iterations / seconds, sum.mean, sum.p50, sum.p99, sum.p999, sum.max);
  latencies_free(&latencies);
  keys_free(&keys);
  memcached_free(memc);
  return 0;
}
