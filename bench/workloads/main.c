/* The clients of one workload: a database, and a cache in front of it that is reached only through
   libmemcached's functions, so that the same program runs with the system's library and with
   Farcache's. farcache-workloads starts it; the servers run already. */
#include "report.h"

#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: workload-client [OPTION...]\n"
    "Runs the clients of one workload for some seconds and prints what they saw as JSON.\n\n"
    "  --workload=NAME         query-cache, tatp or twitter\n"
    "  --database=SOCKET       MariaDB's unix socket\n"
    "  --schema=NAME           the workload's tables are in this one\n"
    "  --server=HOST:PORT      the cache; without it every lookup asks the database\n"
    "  --rows=COUNT            results, subscribers or users\n"
    "  --value-bytes=SIZE      of each result of the query cache: 4K\n"
    "  --updates=PERCENT       of the query cache's operations: 0\n"
    "  --create                make the schema anew, fill it, and end\n"
    "  --flush                 empty the cache first\n"
    "  --preload               store everything in the cache first\n"
    "  --clients=COUNT         each a thread with connections of its own: 1\n"
    "  --warm-up=SECONDS       not measured: 0\n"
    "  --seconds=SECONDS       measured: 0 ends after loading\n"
    "  --operations=COUNT      of each client at least, however long they take: 0\n"
    "  --seed=NUMBER           of the random numbers: 1\n"
    "  --cpu=NUMBER            run on this core\n"
    "  --plant-stale           leave out the deletions: stale rows must be noticed\n"
    "  --plant-wrong           damage what is stored: wrong rows must be noticed\n\n"
    "Status 3 says that a read was stale, wrong or failed.\n";

enum { STATUS_NOT_RIGHT = 3 };

typedef struct {
  settings_st settings;
  const workload_st *workload;
  bool creates, flushes, preloads;
  size_t clients;
  double warm_up_seconds, seconds;
  uint64_t operations, seed;
  int cpu;
} options_st;

/* The clients wait here for each other; when they begin, in nanoseconds. */
typedef struct {
  const options_st *options;
  session_st *session;
  pthread_barrier_t *start;
  counts_st counts;
  double seconds;
} client_st;

static const workload_st *workload_named(const char *name) {
  const workload_st *known[] = {&query_cache, &tatp, &twitter};
  for (size_t at = 0; at < sizeof known / sizeof known[0]; at++) {
    if (strcmp(known[at]->name, name) == 0)
      return known[at];
  }
  fail("'%s' is not a workload: query-cache, tatp or twitter", name);
}

static double parse_seconds(const char *text) {
  char *end;
  double seconds = strtod(text, &end);
  if (end == text || *end || !(seconds >= 0))
    fail("'%s' is not a time in seconds", text);
  return seconds;
}

static void take_option(options_st *options, int option) {
  settings_st *settings = &options->settings;
  switch (option) {
  case 'w': options->workload = workload_named(optarg); break;
  case 'd': settings->socket = optarg; break;
  case 'n': settings->schema = optarg; break;
  case 's': settings->server = optarg; break;
  case 'r': settings->rows = parse_count(optarg, "--rows"); break;
  case 'v': settings->value_bytes = parse_size(optarg); break;
  case 'u': settings->updates_percent = (unsigned) parse_seconds(optarg); break;
  case 'C': options->creates = true; break;
  case 'f': options->flushes = true; break;
  case 'p': options->preloads = true; break;
  case 'c': options->clients = parse_count(optarg, "--clients"); break;
  case 'W': options->warm_up_seconds = parse_seconds(optarg); break;
  case 'S': options->seconds = parse_seconds(optarg); break;
  case 'e': options->seed = parse_count(optarg, "--seed"); break;
  case 'k': options->cpu = parse_core(optarg); break;
  case 'P': settings->plants_stale = true; break;
  case 'D': settings->plants_wrong = true; break;
  case 'o': options->operations = parse_count(optarg, "--operations"); break;
  case 'h': fputs(usage, stdout); exit(0);
  default: fputs(usage, stderr); exit(2);
  }
}

static options_st read_options(int count, char **words) {
  options_st options = {
      .settings = {.rows = 1000, .value_bytes = 4096}, .clients = 1, .seed = 1, .cpu = -1};
  static const struct option known[] = {
      {"workload", 1, NULL, 'w'}, {"database", 1, NULL, 'd'},    {"schema", 1, NULL, 'n'},
      {"server", 1, NULL, 's'},   {"rows", 1, NULL, 'r'},        {"value-bytes", 1, NULL, 'v'},
      {"updates", 1, NULL, 'u'},  {"create", 0, NULL, 'C'},      {"flush", 0, NULL, 'f'},
      {"preload", 0, NULL, 'p'},  {"clients", 1, NULL, 'c'},     {"warm-up", 1, NULL, 'W'},
      {"seconds", 1, NULL, 'S'},  {"seed", 1, NULL, 'e'},        {"cpu", 1, NULL, 'k'},
      {"help", 0, NULL, 'h'},     {"plant-stale", 0, NULL, 'P'}, {"operations", 1, NULL, 'o'},
      {"plant-wrong", 0, NULL, 'D'}, {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(count, words, "", known, NULL)) != -1;)
    take_option(&options, option);
  refuse_words(count, words);
  if (!options.workload || !options.settings.socket || !options.settings.schema)
    fail("--workload, --database and --schema are needed");
  if (options.settings.value_bytes < 64)
    fail("--value-bytes is 64 at least");
  return options;
}

/* Another start for each client and each seed (the finishing steps of splitmix64). */
static uint64_t scattered(uint64_t seed) {
  seed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  return (seed ^ seed >> 31) * 0x94d049bb133111ebu | 1;
}

static void open_session(session_st *session, const options_st *options, size_t number,
                         versions_st *versions, const keys_st *keys) {
  session->settings = &options->settings;
  session->cache = cache_open(options->settings.server);
  session->cache.loses_deletes = options->settings.plants_stale;
  session->cache.damages = options->settings.plants_wrong;
  session->database = database_open(options->settings.socket);
  if (!database_run(&session->database, "USE %s", options->settings.schema))
    fail("the schema cannot be used");
  session->random.state = scattered(options->seed * 1000 + number);
  session->keys = *keys;
  session->keys.random.state = scattered(options->seed * 1000 + number + 500);
  session->versions = versions;
}

static void close_session(session_st *session) {
  cache_close(&session->cache);
  database_close(&session->database);
}

static void create(const options_st *options) {
  session_st *session = calloc(1, sizeof *session);
  keys_st none = {0};
  const char *schema = options->settings.schema;
  database_st database = database_open(options->settings.socket);
  database_run(&database, "DROP DATABASE IF EXISTS %s; CREATE DATABASE %s", schema, schema);
  database_close(&database);
  open_session(session, options, 0, NULL, &none);
  options->workload->create(session);
  close_session(session);
  free(session);
}

static void *run_client(void *argument) {
  client_st *client = argument;
  session_st *session = client->session;
  /* libmemcached connects with the first operation: that is no part of what is measured. */
  cache_connect(&session->cache);
  pthread_barrier_wait(client->start);
  uint64_t now = now_ns(), since = now + (uint64_t) (client->options->warm_up_seconds * 1e9);
  uint64_t until = since + (uint64_t) (client->options->seconds * 1e9);
  for (; now < since; now = now_ns())
    client->options->workload->step(session);
  counts_st before = counts_of(session);
  uint64_t begin = now;
  for (uint64_t done = 0; now < until || done < client->options->operations; done++) {
    unsigned which = client->options->workload->step(session);
    histogram_add(&session->latencies[which], session->took_ns);
    now = now_ns();
  }
  client->counts = counts_less(counts_of(session), before);
  client->seconds = (double) (now - begin) / 1e9;
  return NULL;
}

/* Lets all clients run; what they counted, and for how long. */
static counts_st run_clients(const options_st *options, session_st *sessions, double *seconds) {
  client_st *clients = calloc(options->clients, sizeof *clients);
  pthread_t *threads = calloc(options->clients, sizeof *threads);
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, (unsigned) options->clients);
  for (size_t at = 0; at < options->clients; at++) {
    clients[at] = (client_st) {.options = options, .session = &sessions[at], .start = &start};
    if (pthread_create(&threads[at], NULL, run_client, &clients[at]))
      fail("a thread cannot be started");
  }
  counts_st counts = {0};
  *seconds = 0;
  for (size_t at = 0; at < options->clients; at++) {
    pthread_join(threads[at], NULL);
    counts = counts_more(counts, clients[at].counts);
    *seconds = clients[at].seconds > *seconds ? clients[at].seconds : *seconds;
  }
  pthread_barrier_destroy(&start);
  free(clients);
  free(threads);
  return counts;
}

static versions_st *open_versions(const options_st *options) {
  const workload_st *workload = options->workload;
  versions_st *versions = calloc(workload->version_kinds, sizeof *versions);
  for (size_t kind = 0; kind < workload->version_kinds; kind++)
    versions[kind] = versions_create(workload->version_rows(&options->settings, kind));
  return versions;
}

static void free_versions(const options_st *options, versions_st *versions) {
  for (size_t kind = 0; kind < options->workload->version_kinds; kind++)
    versions_free(&versions[kind]);
  free(versions);
}

static int run(const options_st *options) {
  versions_st *versions = open_versions(options);
  session_st *sessions = calloc(options->clients, sizeof *sessions);
  if (!sessions)
    fail("no memory for %zu clients", options->clients);
  keys_st keys = keys_create(options->settings.rows, true);
  for (size_t at = 0; at < options->clients; at++)
    open_session(&sessions[at], options, at, versions, &keys);
  options->workload->read_versions(&sessions[0]);
  if (options->flushes)
    cache_flush(&sessions[0].cache);
  if (options->preloads)
    options->workload->preload(&sessions[0]);
  if (options->seconds > 0) {
    double seconds;
    counts_st counts = run_clients(options, sessions, &seconds);
    report_print(options->workload, sessions, options->clients, counts, seconds);
  }
  bool right = report_is_right(sessions, options->clients);
  for (size_t at = 0; at < options->clients; at++)
    close_session(&sessions[at]);
  keys_free(&keys);
  free(sessions);
  free_versions(options, versions);
  return right ? 0 : STATUS_NOT_RIGHT;
}

int main(int count, char **words) {
  options_st options = read_options(count, words);
  pin(options.cpu);
  if (mysql_library_init(0, NULL, NULL))
    fail("the database's library cannot be used");
  if (options.creates) {
    create(&options);
    return 0;
  }
  return run(&options);
}
