/* ohb_nbio: clients that write a file's worth of large chunks to several servers and read it back, with blocking and with
   non-blocking calls of libmemcached. */
#include "common.h"

#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: ohb_nbio [OPTION...]\n"
    "Each client writes --total bytes in chunks, then reads them, first with memcached_set and memcached_get, then with\n"
    "memcached_iset and memcached_iget, several chunks at a time. The time of each client counts.\n\n"
    "  --servers=HOST:PORT,...   or --server; default 127.0.0.1:11211\n"
    "  --clients=COUNT           threads, each with its own handle: 1\n"
    "  --total=SIZE              bytes that each client writes and reads: 1G\n"
    "  --chunk=SIZE              64M; at most 512M and what the servers take as a value\n"
    "  --reqthresh=COUNT         chunks under way at the same time: 4\n"
    "  --rounds=COUNT            how often both are measured, in turn; the best counts: 1\n"
    "  --json                    print JSON\n";

static const size_t CHUNK_BYTES_MAX = (size_t) 512 << 20;

typedef struct {
  const char *servers;
  size_t clients, total, chunk, window, rounds;
  bool json;
} options_st;

/* One client's time for writing and reading, in seconds. */
typedef struct {
  double write, read;
} times_st;

typedef struct {
  const options_st *options;
  size_t number;
  bool blocks;
  pthread_barrier_t *start;
  memcached_st *memc;
  char **values; /* one for each chunk under way */
  memcached_request_st **requests;
  times_st times;
} client_st;

static options_st read_options(int count, char **words) {
  options_st options = {.servers = "127.0.0.1:11211", .clients = 1, .total = (size_t) 1 << 30,
                        .chunk = (size_t) 64 << 20, .window = 4, .rounds = 1};
  static const struct option known[] = {
      {"servers", 1, NULL, 's'},   {"clients", 1, NULL, 'c'}, {"total", 1, NULL, 't'}, {"chunk", 1, NULL, 'l'},
      {"reqthresh", 1, NULL, 'w'}, {"rounds", 1, NULL, 'r'},  {"json", 0, NULL, 'j'},  {"help", 0, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;) {
    switch (option) {
    case 's': options.servers = optarg; break;
    case 'c': options.clients = parse_count(optarg, "--clients"); break;
    case 't': options.total = parse_size(optarg); break;
    case 'l': options.chunk = parse_size(optarg); break;
    case 'w': options.window = parse_count(optarg, "--reqthresh"); break;
    case 'r': options.rounds = parse_count(optarg, "--rounds"); break;
    case 'j': options.json = true; break;
    case 'h': fputs(usage, stdout); exit(0);
    default: fputs(usage, stderr); exit(2);
    }
  }
  refuse_words(count, words);
  if (options.chunk == 0 || options.chunk > CHUNK_BYTES_MAX)
    fail("--chunk is from 1 to 512M");
  if (options.total < options.chunk)
    fail("--total is less than one chunk");
  return options;
}

static size_t chunk_count(const options_st *options) {
  return options->total / options->chunk;
}

/* Names a chunk; the number is the same in every round, so that chunks are replaced. */
static size_t chunk_number(const client_st *client, size_t chunk) {
  return client->number * chunk_count(client->options) + chunk;
}

static void check_chunk(const client_st *client, const char *value, size_t length, size_t chunk) {
  if (length != client->options->chunk || !is_value(value, length, chunk_number(client, chunk)))
    fail("chunk %zu of client %zu is not the one that was written", chunk, client->number);
}

static void write_blocking(client_st *client) {
  char key[KEY_BYTES];
  for (size_t chunk = 0; chunk < chunk_count(client->options); chunk++) {
    size_t number = chunk_number(client, chunk), bytes = client->options->chunk;
    char *value = client->values[chunk % client->options->window];
    write_key(key, number);
    memcpy(value, &number, sizeof number);
    value[bytes - 1] = (char) ('a' + number % 26);
    check_stored(client->memc, memcached_set(client->memc, key, sizeof key, value, bytes, 0, 0), bytes);
  }
}

static void read_blocking(client_st *client) {
  char key[KEY_BYTES];
  for (size_t chunk = 0; chunk < chunk_count(client->options); chunk++) {
    size_t length;
    uint32_t flags;
    memcached_return_t outcome;
    write_key(key, chunk_number(client, chunk));
    char *value = memcached_get(client->memc, key, sizeof key, &length, &flags, &outcome);
    check(client->memc, outcome, "reading");
    check_chunk(client, value, length, chunk);
    free(value);
  }
}

static void end_writing(client_st *client, size_t chunk) {
  memcached_request_st *request = client->requests[chunk % client->options->window];
  check_stored(client->memc, memcached_wait(client->memc, request), client->options->chunk);
}

static void write_nonblocking(client_st *client) {
  char key[KEY_BYTES];
  size_t window = client->options->window, bytes = client->options->chunk, count = chunk_count(client->options);
  for (size_t chunk = 0; chunk < count; chunk++) {
    if (chunk >= window)
      end_writing(client, chunk - window);
    size_t number = chunk_number(client, chunk);
    char *value = client->values[chunk % window];
    write_key(key, number);
    memcpy(value, &number, sizeof number);
    value[bytes - 1] = (char) ('a' + number % 26);
    memcached_request_st *request = client->requests[chunk % window];
    check_stored(client->memc, memcached_iset(client->memc, key, sizeof key, request, 0, 0), client->options->chunk);
  }
  for (size_t chunk = count > window ? count - window : 0; chunk < count; chunk++)
    end_writing(client, chunk);
}

static void end_reading(client_st *client, size_t chunk) {
  memcached_request_st *request = client->requests[chunk % client->options->window];
  check(client->memc, memcached_wait(client->memc, request), "reading");
  check_chunk(client, request->value, request->value_length, chunk);
}

static void read_nonblocking(client_st *client) {
  char key[KEY_BYTES];
  size_t window = client->options->window, count = chunk_count(client->options);
  for (size_t chunk = 0; chunk < count; chunk++) {
    if (chunk >= window)
      end_reading(client, chunk - window);
    write_key(key, chunk_number(client, chunk));
    memcached_request_st *request = client->requests[chunk % window];
    check(client->memc, memcached_iget(client->memc, key, sizeof key, request), "reading");
  }
  for (size_t chunk = count > window ? count - window : 0; chunk < count; chunk++)
    end_reading(client, chunk);
}

static void *run_client(void *argument) {
  client_st *client = argument;
  pthread_barrier_wait(client->start);
  uint64_t begin = now_ns();
  (client->blocks ? write_blocking : write_nonblocking)(client);
  uint64_t written = now_ns();
  pthread_barrier_wait(client->start);
  uint64_t reading = now_ns();
  (client->blocks ? read_blocking : read_nonblocking)(client);
  client->times = (times_st){.write = (double) (written - begin) / 1e9, .read = (double) (now_ns() - reading) / 1e9};
  return NULL;
}

static void create_client(client_st *client, const options_st *options, size_t number, pthread_barrier_t *start) {
  *client = (client_st){.options = options, .number = number, .start = start};
  client->memc = connect_to(options->servers, true);
  client->values = calloc(options->window, sizeof client->values[0]);
  client->requests = calloc(options->window, sizeof client->requests[0]);
  if (!client->values || !client->requests)
    fail("no memory");
  for (size_t at = 0; at < options->window; at++) {
    client->values[at] = malloc(options->chunk);
    if (!client->values[at])
      fail("no memory for %zu chunks", options->window);
    fill_value(client->values[at], options->chunk, at);
    client->requests[at] = memcached_request_create(client->memc, client->values[at], options->chunk, 0);
  }
}

static void free_client(client_st *client) {
  for (size_t at = 0; at < client->options->window; at++) {
    memcached_request_free(client->memc, client->requests[at]);
    free(client->values[at]);
  }
  free(client->values);
  free(client->requests);
  memcached_free(client->memc);
}

/* All clients at the same time; the mean of their times. */
static times_st run_all(client_st *clients, const options_st *options, bool blocks) {
  pthread_t *threads = calloc(options->clients, sizeof threads[0]);
  times_st sum = {0, 0};
  for (size_t number = 0; number < options->clients; number++) {
    clients[number].blocks = blocks;
    if (pthread_create(&threads[number], NULL, run_client, &clients[number]))
      fail("no thread for a client");
  }
  for (size_t number = 0; number < options->clients; number++) {
    pthread_join(threads[number], NULL);
    sum.write += clients[number].times.write / (double) options->clients;
    sum.read += clients[number].times.read / (double) options->clients;
  }
  free(threads);
  return sum;
}

static void keep_best(times_st *best, times_st next) {
  best->write = best->write == 0 || next.write < best->write ? next.write : best->write;
  best->read = best->read == 0 || next.read < best->read ? next.read : best->read;
}

static void show(const options_st *options, const char *name, times_st times) {
  double gigabytes = (double) (chunk_count(options) * options->chunk) / 1e9;
  printf(options->json ? "{\"calls\": \"%s\", \"write_s\": %.3f, \"read_s\": %.3f, \"total_s\": %.3f, \"write_gb_per_s\": %.2f, "
                         "\"read_gb_per_s\": %.2f}\n"
                       : "%-12s write %8.3f s, read %8.3f s, total %8.3f s; %6.2f and %6.2f GB/s a client\n",
         name, times.write, times.read, times.write + times.read, gigabytes / times.write, gigabytes / times.read);
}

int main(int count, char **words) {
  options_st options = read_options(count, words);
  need_farcache();
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned) options.clients);
  client_st *clients = calloc(options.clients, sizeof clients[0]);
  if (!clients)
    fail("no memory");
  for (size_t number = 0; number < options.clients; number++)
    create_client(&clients[number], &options, number, &start);
  times_st blocking = {0, 0}, nonblocking = {0, 0};
  /* The first writing alone meets memory that the servers have never touched. */
  run_all(clients, &options, true);
  for (size_t round = 0; round < options.rounds; round++) {
    keep_best(&blocking, run_all(clients, &options, true));
    keep_best(&nonblocking, run_all(clients, &options, false));
  }
  show(&options, "blocking", blocking);
  show(&options, "non-blocking", nonblocking);
  for (size_t number = 0; number < options.clients; number++)
    free_client(&clients[number]);
  free(clients);
  pthread_barrier_destroy(&start);
  return 0;
}
