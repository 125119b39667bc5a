/* One of the six clients of scripts/bench-cluster languages: C, libmemcached with weighted ketama. What all of them do is told
   in bench/README.md. libmemcached knows no discovery, so a thread asks for the servers, and a change makes a new handle. */
#include "../../c/common.h"

#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEY_ROOM = 64, SERVERS_ROOM = 4096, TIMEOUT_MS = 5000 };

typedef struct {
  const char *name, *operations;
  char *host, *port;
  uint64_t keys, value_bytes, rate, part_ms, poll_ms;
} settings_st;

typedef struct {
  uint64_t reads, hits, updates, wrong, stale, failed;
  latencies_st latencies;
} part_st;

/* What is known of a key: the version given to it last, and the last one whose write was acknowledged. */
typedef struct {
  uint64_t given, acknowledged;
} versions_st;

typedef struct {
  settings_st settings;
  memcached_st *memc;
  char servers[SERVERS_ROOM];
  versions_st *versions;
  part_st *parts;
  size_t parts_count;
  char *value;
} client_st;

/* The servers as host:port with commas between, as the thread that asks has heard last. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char told[SERVERS_ROOM];

static int connect_to_endpoint(const settings_st *settings) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (getaddrinfo(settings->host, settings->port, &hints, &found) != 0) {
    return -1;
  }
  int endpoint = socket(found->ai_family, found->ai_socktype, 0);
  if (endpoint >= 0 && connect(endpoint, found->ai_addr, found->ai_addrlen) != 0) {
    close(endpoint);
    endpoint = -1;
  }
  freeaddrinfo(found);
  return endpoint;
}

/* Reads the reply to its END. */
static bool ask_for_reply(const settings_st *settings, char *reply, size_t room) {
  static const char question[] = "config get cluster\r\n";
  int endpoint = connect_to_endpoint(settings);
  size_t length = 0;
  bool is_whole = false;
  if (endpoint >= 0 && send(endpoint, question, sizeof question - 1, MSG_NOSIGNAL) == sizeof question - 1) {
    ssize_t more = 1;
    while (!is_whole && more > 0 && length + 1 < room) {
      more = recv(endpoint, reply + length, room - 1 - length, 0);
      length += more > 0 ? (size_t)more : 0;
      reply[length] = '\0';
      is_whole = strstr(reply, "\r\nEND\r\n") != NULL;
    }
  }
  if (endpoint >= 0) {
    close(endpoint);
  }
  return is_whole;
}

/* The third line of the reply has "host|ip|port" for each server, with blanks between. */
static bool ask_for_servers(const settings_st *settings, char servers[SERVERS_ROOM]) {
  char reply[SERVERS_ROOM], *rest = reply, *node;
  if (!ask_for_reply(settings, reply, sizeof reply)) {
    return false;
  }
  strsep(&rest, "\n");
  strsep(&rest, "\n");
  char *nodes = strsep(&rest, "\r\n");
  size_t length = 0;
  while ((node = strsep(&nodes, " ")) != NULL) {
    const char *host = strsep(&node, "|");
    strsep(&node, "|");
    length += (size_t)snprintf(servers + length, SERVERS_ROOM - length, "%s%s:%s", length ? "," : "", host, node);
  }
  return length > 0;
}

static void *keep_asking(void *of) {
  const settings_st *settings = of;
  for (;;) {
    char servers[SERVERS_ROOM];
    if (ask_for_servers(settings, servers)) {
      pthread_mutex_lock(&lock);
      strcpy(told, servers);
      pthread_mutex_unlock(&lock);
    }
    usleep((useconds_t)settings->poll_ms * 1000);
  }
  return NULL;
}

static size_t count_servers(const char *servers) {
  size_t count = 1;
  for (; *servers; servers++) {
    count += *servers == ',';
  }
  return count;
}

/* Goes by the servers that were told last. */
static void adopt_servers(client_st *client) {
  pthread_mutex_lock(&lock);
  bool is_new = strcmp(client->servers, told) != 0;
  strcpy(client->servers, told);
  pthread_mutex_unlock(&lock);
  if (!is_new) {
    return;
  }
  if (client->memc != NULL) {
    memcached_free(client->memc);
  }
  client->memc = memcached_create(NULL);
  memcached_behavior_set(client->memc, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  memcached_behavior_set(client->memc, MEMCACHED_BEHAVIOR_TCP_NODELAY, 1);
  memcached_behavior_set(client->memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, TIMEOUT_MS);
  memcached_server_list_st list = memcached_servers_parse(client->servers);
  memcached_server_push(client->memc, list);
  memcached_server_list_free(list);
  printf("servers %zu\n", count_servers(client->servers));
  fflush(stdout);
}

static size_t write_key_of(const client_st *client, uint64_t number, char key[KEY_ROOM]) {
  return (size_t)snprintf(key, KEY_ROOM, "%s:%lu", client->settings.name, number);
}

/* Stores the key's next version; whether that was acknowledged. */
static bool store(client_st *client, uint64_t number) {
  versions_st *versions = &client->versions[number];
  char key[KEY_ROOM];
  size_t length = write_key_of(client, number, key), bytes = client->settings.value_bytes;
  uint64_t version = ++versions->given;
  int head = snprintf(client->value, bytes + 1, "%s %lu ", key, version);
  memset(client->value + head, '.', bytes - (size_t)head);
  memcached_return_t outcome = memcached_set(client->memc, key, length, client->value, bytes, 0, 0);
  if (outcome != MEMCACHED_SUCCESS) {
    fprintf(stderr, "%s: set: %s\n", client->settings.name, memcached_last_error_message(client->memc));
    return false;
  }
  versions->acknowledged = version;
  return true;
}

/* Counts a value that nobody has stored under this key, and one that is older than what was acknowledged. */
static void judge(client_st *client, part_st *part, uint64_t number, const char *value, size_t bytes) {
  const versions_st *versions = &client->versions[number];
  char key[KEY_ROOM];
  size_t length = write_key_of(client, number, key);
  char *end = NULL;
  bool is_right = bytes == client->settings.value_bytes && strncmp(value, key, length) == 0 && value[length] == ' ';
  uint64_t version = is_right ? strtoul(value + length + 1, &end, 10) : 0;
  is_right = is_right && *end == ' ' && version <= versions->given;
  for (const char *at = end + 1; is_right && at < value + bytes; at++) {
    is_right = *at == '.';
  }
  part->wrong += !is_right;
  part->stale += is_right && version < versions->acknowledged;
}

static void read_one(client_st *client, part_st *part, uint64_t number, uint64_t from_ns) {
  char key[KEY_ROOM];
  size_t length = write_key_of(client, number, key), bytes;
  uint32_t flags;
  memcached_return_t outcome;
  part->reads++;
  char *value = memcached_get(client->memc, key, length, &bytes, &flags, &outcome);
  if (outcome == MEMCACHED_SUCCESS || outcome == MEMCACHED_NOTFOUND) {
    latencies_add(&part->latencies, now_ns() - from_ns);
  }
  if (outcome == MEMCACHED_SUCCESS) {
    part->hits++;
    judge(client, part, number, value, bytes);
  } else if (outcome == MEMCACHED_NOTFOUND) {
    part->failed += !store(client, number);
  } else {
    part->failed++;
    fprintf(stderr, "%s: get: %s\n", client->settings.name, memcached_last_error_message(client->memc));
  }
  free(value);
}

/* Waits until then; whether there was anything to wait for. */
static bool sleep_until(uint64_t then_ns) {
  if (now_ns() >= then_ns) {
    return false;
  }
  struct timespec then = {.tv_sec = (time_t)(then_ns / 1000000000), .tv_nsec = (long)(then_ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) != 0) {
  }
  return true;
}

static void run(client_st *client, FILE *operations) {
  const settings_st *settings = &client->settings;
  uint64_t start_ns = now_ns(), number;
  char kind;
  for (uint64_t index = 0; fscanf(operations, " %c %lu", &kind, &number) == 2; index++) {
    uint64_t due_ns = start_ns + index * 1000000000 / settings->rate;
    /* Who had time to sleep is not charged with a timer that was late. */
    uint64_t from_ns = sleep_until(due_ns) ? now_ns() : due_ns;
    size_t at = index * 1000 / settings->rate / settings->part_ms;
    if (at >= client->parts_count) {
      client->parts = realloc(client->parts, (at + 1) * sizeof *client->parts);
      client->parts[at] = (part_st){.latencies = latencies_create(settings->rate * settings->part_ms / 1000 + 1)};
      client->parts_count = at + 1;
    }
    adopt_servers(client);
    if (kind == 'u') {
      client->parts[at].updates++;
      client->parts[at].failed += !store(client, number);
    } else {
      read_one(client, &client->parts[at], number, from_ns);
    }
  }
}

static void tell(const client_st *client) {
  for (size_t at = 0; at < client->parts_count; at++) {
    const part_st *part = &client->parts[at];
    printf("part %lu %lu %lu %lu %lu %lu", part->reads, part->hits, part->updates, part->wrong, part->stale, part->failed);
    for (size_t one = 0; one < part->latencies.count; one++) {
      printf(" %lu", part->latencies.ns[one] / 1000);
    }
    printf("\n");
  }
  printf("end\n");
}

static settings_st read_settings(int count, char **words) {
  if (count != 9) {
    fail("client NAME HOST:PORT OPERATIONS KEYS VALUE_BYTES RATE PART_MS POLL_MS");
  }
  settings_st settings = {.name = words[1], .port = words[2], .operations = words[3]};
  settings.host = strsep(&settings.port, ":");
  uint64_t *numbers[] = {&settings.keys, &settings.value_bytes, &settings.rate, &settings.part_ms, &settings.poll_ms};
  for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++) {
    *numbers[at] = parse_count(words[4 + at], "a number");
  }
  return settings;
}

int main(int count, char **words) {
  client_st client = {.settings = read_settings(count, words)};
  FILE *operations = fopen(client.settings.operations, "r");
  if (operations == NULL || !ask_for_servers(&client.settings, told)) {
    fail("no operations, or nobody tells of servers");
  }
  client.versions = calloc(client.settings.keys, sizeof *client.versions);
  client.value = malloc(client.settings.value_bytes + 1);
  adopt_servers(&client);
  for (uint64_t number = 0; number < client.settings.keys; number++) {
    if (!store(&client, number)) {
      fail("not all keys could be stored");
    }
  }
  pthread_t asking;
  if (pthread_create(&asking, NULL, keep_asking, &client.settings) != 0) {
    fail("no thread");
  }
  printf("ready\n");
  fflush(stdout);
  char go[16];
  if (fgets(go, sizeof go, stdin) != NULL) {
    run(&client, operations);
  }
  tell(&client);
  return 0;
}
