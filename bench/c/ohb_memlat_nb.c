/* ohb_memlat_nb: latency, rate and overlap of libmemcached's non-blocking operations, beside the blocking ones. */
#include "common.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: ohb_memlat_nb [OPTION...]\n"
    "Begins --reqthresh operations, waits until all of them have ended, and so on. Then measures, for the same amount of\n"
    "operations at a time, how much of their time the caller could compute.\n\n"
    "  --servers=HOST:PORT,...   or --server; default 127.0.0.1:11211\n"
    "  --reqtype=TYPE            iset, iget (default), bset, bget, or set, get: the blocking calls, one at a time\n"
    "  --progresstype=wait|test  how the caller learns that an operation has ended: memcached_wait (default), or\n"
    "                            memcached_test again and again\n"
    "  --pattern=random|zipf     which keys: each as likely (default), or by Zipf's law with an exponent of 0.99\n"
    "  --reqthresh=COUNT         operations under way at the same time: 32\n"
    "  --sizes=SIZE,...          of the values: 64,4K,1M\n"
    "  --iterations=COUNT        operations that are measured with each size: 100000, or as many as move 2 GB\n"
    "  --keys=COUNT              1000, or as many as fill 64 MB\n"
    "  --overlap-rounds=COUNT    how often the overlap is measured: 200 (its median counts); 0 for not at all\n"
    "  --cpu=NUMBER              run on this core\n"
    "  --thread-cpu=NUMBER       run the library's progress thread, if there is one, on this core\n"
    "  --json                    print JSON, a line for each size\n";

enum { SIZES_MAX = 32, COMPUTE_SLICES = 16 };

typedef enum { SET, ISET, BSET, GET, IGET, BGET } kind_t;

typedef struct {
  const char *servers, *kind_name;
  kind_t kind;
  bool tests, zipf, json;
  size_t window, sizes[SIZES_MAX], size_count, iterations, keys, overlap_rounds;
  int cpu, thread_cpu;
} options_st;

/* What one size is measured with. */
typedef struct {
  const options_st *options;
  memcached_st *memc;
  size_t size;
  keys_st keys;
  memcached_request_st **requests;
  char *values; /* one for each request */
  size_t *numbers; /* the key of each request */
  uint64_t *begun_ns;
} run_st;

static bool is_get(kind_t kind) {
  return kind >= GET;
}

static bool is_blocking(kind_t kind) {
  return kind == SET || kind == GET;
}

static kind_t parse_kind(const char *text) {
  static const char *const names[] = {"set", "iset", "bset", "get", "iget", "bget"};
  for (kind_t kind = SET; kind <= BGET; kind++)
    if (strcmp(text, names[kind]) == 0)
      return kind;
  fail("--reqtype is iset, iget, bset, bget, set or get, not '%s'", text);
}

static bool is_second(const char *text, const char *first, const char *second, const char *option) {
  if (strcmp(text, first) && strcmp(text, second))
    fail("%s is %s or %s, not '%s'", option, first, second, text);
  return strcmp(text, second) == 0;
}

static void parse_sizes(options_st *options, char *text) {
  options->size_count = 0;
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
    if (options->size_count == SIZES_MAX)
      fail("--sizes takes %d sizes at most", SIZES_MAX);
    options->sizes[options->size_count++] = parse_size(word);
  }
}

static options_st read_options(int count, char **words) {
  options_st options = {.servers = "127.0.0.1:11211", .kind_name = "iget", .kind = IGET, .window = 32,
                        .sizes = {64, 4096, 1 << 20}, .size_count = 3, .overlap_rounds = 200, .cpu = -1, .thread_cpu = -1};
  static const struct option known[] = {
      {"servers", 1, NULL, 's'}, {"reqtype", 1, NULL, 't'},    {"progresstype", 1, NULL, 'p'}, {"pattern", 1, NULL, 'a'},
      {"reqthresh", 1, NULL, 'w'}, {"sizes", 1, NULL, 'l'},    {"iterations", 1, NULL, 'n'},   {"keys", 1, NULL, 'k'},
      {"overlap-rounds", 1, NULL, 'o'}, {"cpu", 1, NULL, 'c'}, {"thread-cpu", 1, NULL, 'x'},   {"json", 0, NULL, 'j'},
      {"help", 0, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
    switch (option) {
    case 's': options.servers = optarg; break;
    case 't': options.kind = parse_kind(optarg); options.kind_name = optarg; break;
    case 'p': options.tests = is_second(optarg, "wait", "test", "--progresstype"); break;
    case 'a': options.zipf = is_second(optarg, "random", "zipf", "--pattern"); break;
    case 'w': options.window = parse_count(optarg, "--reqthresh"); break;
    case 'l': parse_sizes(&options, optarg); break;
    case 'n': options.iterations = parse_count(optarg, "--iterations"); break;
    case 'k': options.keys = parse_count(optarg, "--keys"); break;
    case 'o': options.overlap_rounds = strcmp(optarg, "0") ? parse_count(optarg, "--overlap-rounds") : 0; break;
    case 'c': options.cpu = parse_core(optarg); break;
    case 'x': options.thread_cpu = parse_core(optarg); break;
    case 'j': options.json = true; break;
    case 'h': fputs(usage, stdout); exit(0);
    default: fputs(usage, stderr); exit(2);
    }
  }
  refuse_words(count, words);
  return options;
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes ? bytes : 1);
  if (!memory)
    fail("no memory for %zu bytes", bytes);
  return memory;
}

static size_t key_count(const options_st *options, size_t size) {
  if (options->keys)
    return options->keys;
  size_t fitting = (64u << 20) / (size ? size : 1);
  return fitting < 1 ? 1 : fitting > 1000 ? 1000 : fitting;
}

static size_t iteration_count(const options_st *options, size_t size) {
  if (options->iterations)
    return options->iterations;
  size_t moving = ((size_t) 2 << 30) / (size ? size : 1);
  size_t count = moving > 100000 ? 100000 : moving;
  return count < options->window ? options->window : count;
}

static void store_all(run_st *run) {
  char key[KEY_BYTES], *value = allocate(run->size);
  for (size_t number = 0; number < run->keys.count; number++) {
    write_key(key, number);
    fill_value(value, run->size, number);
    check_stored(run->memc, memcached_set(run->memc, key, sizeof key, value, run->size, 0, 0), run->size);
  }
  free(value);
}

static run_st begin_run(const options_st *options, memcached_st *memc, size_t size) {
  run_st run = {.options = options, .memc = memc, .size = size,
                .keys = keys_create(key_count(options, size), options->zipf)};
  run.requests = allocate(options->window * sizeof run.requests[0]);
  run.values = allocate(options->window * size);
  run.numbers = allocate(options->window * sizeof run.numbers[0]);
  run.begun_ns = allocate(options->window * sizeof run.begun_ns[0]);
  for (size_t at = 0; at < options->window; at++)
    run.requests[at] = memcached_request_create(memc, run.values + at * size, size, 0);
  store_all(&run);
  return run;
}

static void end_run(run_st *run) {
  for (size_t at = 0; at < run->options->window; at++)
    memcached_request_free(run->memc, run->requests[at]);
  free(run->requests);
  free(run->values);
  free(run->numbers);
  free(run->begun_ns);
  keys_free(&run->keys);
}

static void check_got(const run_st *run, const char *value, size_t length, size_t number) {
  if (length != run->size || !is_value(value, length, number))
    fail("the value of key %zu is not the one that was stored", number);
}

/* The blocking calls: begun and ended at once. */
static void do_blocking(run_st *run, size_t number) {
  char key[KEY_BYTES];
  write_key(key, number);
  if (!is_get(run->options->kind)) {
    fill_value(run->values, run->size, number);
    check_stored(run->memc, memcached_set(run->memc, key, sizeof key, run->values, run->size, 0, 0), run->size);
    return;
  }
  size_t length;
  uint32_t flags;
  memcached_return_t outcome;
  char *value = memcached_get(run->memc, key, sizeof key, &length, &flags, &outcome);
  check(run->memc, outcome, "getting");
  check_got(run, value, length, number);
  free(value);
}

static void begin(run_st *run, size_t at) {
  char key[KEY_BYTES];
  size_t number = run->numbers[at] = keys_next(&run->keys);
  write_key(key, number);
  memcached_request_st *request = run->requests[at];
  memcached_return_t outcome = MEMCACHED_FAILURE;
  if (!is_get(run->options->kind))
    fill_value(run->values + at * run->size, run->size < 16 ? run->size : 16, number);
  switch (run->options->kind) {
  case ISET: outcome = memcached_iset(run->memc, key, sizeof key, request, 0, 0); break;
  case BSET: outcome = memcached_bset(run->memc, key, sizeof key, request, 0, 0); break;
  case IGET: outcome = memcached_iget(run->memc, key, sizeof key, request); break;
  case BGET: outcome = memcached_bget(run->memc, key, sizeof key, request); break;
  case SET: case GET: break;
  }
  check(run->memc, outcome, "beginning");
}

static void ended(run_st *run, size_t at, memcached_return_t outcome, latencies_st *latencies) {
  check(run->memc, outcome, "an operation");
  if (latencies)
    latencies_add(latencies, now_ns() - run->begun_ns[at]);
  if (is_get(run->options->kind))
    check_got(run, run->values + at * run->size, run->requests[at]->value_length, run->numbers[at]);
}

static void end_by_testing(run_st *run, latencies_st *latencies) {
  size_t window = run->options->window, left = window;
  bool *done = allocate(window);
  while (left > 0) {
    for (size_t at = 0; at < window; at++) {
      if (done[at])
        continue;
      memcached_return_t outcome = memcached_test(run->memc, run->requests[at]);
      if (outcome == MEMCACHED_IN_PROGRESS)
        continue;
      ended(run, at, outcome, latencies);
      done[at] = true;
      left--;
    }
  }
  free(done);
}

static void begin_window(run_st *run, bool timed) {
  for (size_t at = 0; at < run->options->window; at++) {
    if (timed)
      run->begun_ns[at] = now_ns();
    begin(run, at);
  }
}

static void end_window(run_st *run, latencies_st *latencies) {
  if (run->options->tests) {
    end_by_testing(run, latencies);
    return;
  }
  for (size_t at = 0; at < run->options->window; at++)
    ended(run, at, memcached_wait(run->memc, run->requests[at]), latencies);
}

static void do_window(run_st *run, latencies_st *latencies) {
  if (!is_blocking(run->options->kind)) {
    begin_window(run, latencies != NULL);
    end_window(run, latencies);
    return;
  }
  for (size_t at = 0; at < run->options->window; at++) {
    uint64_t before = latencies ? now_ns() : 0;
    do_blocking(run, keys_next(&run->keys));
    if (latencies)
      latencies_add(latencies, now_ns() - before);
  }
}

/* Work that the compiler cannot leave out. */
static uint64_t compute(uint64_t rounds) {
  static volatile uint64_t result;
  uint64_t x = result | 1;
  for (uint64_t round = 0; round < rounds; round++)
    x = x * 6364136223846793005ull + 1442695040888963407ull;
  return result = x;
}

/* The caller's own work while operations are under way; it tests now and then if it is to. */
static void compute_beside(run_st *run, uint64_t rounds) {
  if (!run->options->tests) {
    compute(rounds);
    return;
  }
  for (int slice = 0; slice < COMPUTE_SLICES; slice++) {
    compute(rounds / COMPUTE_SLICES);
    memcached_test(run->memc, run->requests[run->options->window - 1]);
  }
}

static double median_us(latencies_st *of) {
  summary_st sum = latencies_summary(of);
  return sum.p50;
}

/* What the overlap is calculated from, medians in microseconds: a window of operations alone, the caller's work alone, and
   the work while the operations are under way. */
typedef struct {
  double alone_us, work_us, both_us;
} overlap_st;

/* Part of the operations' time, in per cent, that the caller can compute. */
static double overlap_percent(overlap_st of) {
  if (of.alone_us <= 0)
    return 0;
  double share = 100 * (1 - (of.both_us - of.work_us) / of.alone_us);
  return share < 0 ? 0 : share > 100 ? 100 : share;
}

/* Rounds of work that take this long: the median of several samples, as one may be interrupted. */
static uint64_t rounds_within(double us) {
  enum { SAMPLES = 25 };
  const uint64_t sample = 100000;
  latencies_st samples = latencies_create(SAMPLES);
  for (int at = 0; at < SAMPLES; at++) {
    uint64_t before = now_ns();
    compute(sample);
    latencies_add(&samples, now_ns() - before);
  }
  double sample_us = median_us(&samples);
  latencies_free(&samples);
  return (uint64_t) (us / sample_us * (double) sample);
}

/* With as much work as the operations take without it: how long everything takes. */
static overlap_st measure_overlap(run_st *run) {
  size_t rounds = run->options->overlap_rounds;
  latencies_st alone = latencies_create(rounds), work = latencies_create(rounds), both = latencies_create(rounds);
  for (size_t round = 0; round < rounds; round++) {
    uint64_t before = now_ns();
    do_window(run, NULL);
    latencies_add(&alone, now_ns() - before);
  }
  uint64_t amount = rounds_within(median_us(&alone));
  alone.count = 0;
  for (size_t round = 0; round < rounds; round++) {
    uint64_t before = now_ns();
    do_window(run, NULL);
    latencies_add(&alone, now_ns() - before);
    before = now_ns();
    compute(amount);
    latencies_add(&work, now_ns() - before);
    before = now_ns();
    begin_window(run, false);
    compute_beside(run, amount);
    end_window(run, NULL);
    latencies_add(&both, now_ns() - before);
  }
  overlap_st of = {median_us(&alone), median_us(&work), median_us(&both)};
  latencies_free(&alone);
  latencies_free(&work);
  latencies_free(&both);
  return of;
}

static void measure(const options_st *options, memcached_st *memc, size_t size) {
  run_st run = begin_run(options, memc, size);
  size_t windows = (iteration_count(options, size) + options->window - 1) / options->window;
  for (size_t window = 0; window < windows / 10 + 1; window++)
    do_window(&run, NULL);
  latencies_st latencies = latencies_create(windows * options->window);
  uint64_t before = now_ns();
  for (size_t window = 0; window < windows; window++)
    do_window(&run, NULL);
  double seconds = (double) (now_ns() - before) / 1e9;
  for (size_t window = 0; window < windows / 4 + 1; window++)
    do_window(&run, &latencies);
  double rate = (double) (windows * options->window) / seconds;
  summary_st sum = latencies_summary(&latencies);
  overlap_st overlap = {0};
  if (options->overlap_rounds && !is_blocking(options->kind))
    overlap = measure_overlap(&run);
  printf(options->json ? "{\"reqtype\": \"%s\", \"size\": %zu, \"operations_per_s\": %.0f, \"mean_us\": %.2f, \"p50_us\": %.2f, "
                         "\"p99_us\": %.2f, \"p999_us\": %.2f, \"max_us\": %.2f, \"overlap_percent\": %.1f, "
                         "\"overlap_alone_us\": %.2f, \"overlap_work_us\": %.2f, \"overlap_both_us\": %.2f}\n"
                       : "%-5s %8zu %12.0f %10.2f %10.2f %10.2f %10.2f %10.2f %8.1f %10.2f %10.2f %10.2f\n",
         options->kind_name, size, rate, sum.mean, sum.p50, sum.p99, sum.p999, sum.max, overlap_percent(overlap),
         overlap.alone_us, overlap.work_us, overlap.both_us);
  fflush(stdout);
  latencies_free(&latencies);
  end_run(&run);
}

int main(int count, char **words) {
  options_st options = read_options(count, words);
  need_farcache();
  memcached_st *memc = connect_to(options.servers, true);
  /* Connects: a thread of the library begins on the core that this thread is bound to now. */
  pin(options.thread_cpu);
  check(memc, memcached_version(memc), "asking for the version");
  pin(options.cpu);
  if (!options.json)
    printf("%-5s %8s %12s %10s %10s %10s %10s %10s %8s %10s %10s %10s\n", "type", "size", "operations/s", "mean us", "p50", "p99",
           "p99.9", "max", "overlap%", "alone us", "work us", "both us");
  for (size_t at = 0; at < options.size_count; at++)
    measure(&options, memc, options.sizes[at]);
  memcached_free(memc);
  return 0;
}
