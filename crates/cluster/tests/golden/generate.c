/* Prints what libmemcached answers: the golden data of these tests.
 *
 * Needs libmemcached-dev; the checked-in data is from Debian 12's 1.1.4-1 on amd64. In this folder:
 *
 *     cc -Wall -Wextra -o generate generate.c -lmemcached
 *     ./generate hashes > hashes.txt && ./generate placements > placements.txt && rm generate
 *
 * Nothing is random, so a second run prints the same.
 *
 * hashes.txt: a line of the algorithms' names, then per key a line of its bytes and hashes, all in hexadecimal.
 *
 * placements.txt: "key BYTES" for every key; then cases, each one "case TITLE" with "distribution", "hash", perhaps
 * "sort" and "namespace BYTES" (where it is hashed), "server HOST PORT WEIGHT" (port 0: unix socket), "down INDEX..."
 * (which servers are down from now on, all others up), and "owners": for every key the index of its server.
 */

#include <libmemcached/memcached.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof *(array))
#define MUST(condition) must((condition), #condition, __LINE__)

static void must(bool holds, const char *condition, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: not true: %s\n", line, condition);
    exit(1);
  }
}

/* Keys */

enum { KEY_BYTES_MAX = 250, NUMBERED_KEYS = 300 };

struct key {
  size_t length;
  char bytes[KEY_BYTES_MAX];
};

static struct key keys[1000];
static size_t key_count;

static void add_key(const char *bytes, size_t length) {
  MUST(key_count < ARRAY_LENGTH(keys) && length <= KEY_BYTES_MAX);
  struct key *key = &keys[key_count++];
  key->length = length;
  memcpy(key->bytes, bytes, length);
}

/* Numerical Recipes' linear congruential generator; its upper bits. */
static unsigned next_number(unsigned below) {
  static uint32_t state = 2026;
  state = state * 1664525u + 1013904223u;
  return (unsigned) (((uint64_t) state * below) >> 32);
}

static void add_arbitrary_key(size_t length, unsigned byte_min, unsigned byte_max) {
  char bytes[KEY_BYTES_MAX];
  for (size_t index = 0; index < length; index++) {
    bytes[index] = (char) (byte_min + next_number(byte_max - byte_min + 1));
  }
  add_key(bytes, length);
}

static void add_keys(void) {
  for (int number = 0; number < NUMBERED_KEYS; number++) {
    char text[32];
    add_key(text, (size_t) snprintf(text, sizeof text, "user:%d:name", number * number));
  }
  for (size_t length = 1; length <= 40; length++) {
    add_arbitrary_key(length, '!', '~');
    add_arbitrary_key(length, 0x80, 0xff);
    add_arbitrary_key(length, 0, 0xff);
  }
  for (size_t length = 120; length <= KEY_BYTES_MAX; length += 10) {
    add_arbitrary_key(length, '!', '~');
  }
  add_key("a\0b", 3);
  add_key("zero at the end\0", 16);
}

static void print_bytes(const char *bytes, size_t length) {
  for (size_t index = 0; index < length; index++) {
    printf("%02x", (unsigned char) bytes[index]);
  }
}

/* Hashes */

static const struct {
  const char *name;
  memcached_hash_t hash;
} algorithms[] = {
    {"DEFAULT", MEMCACHED_HASH_DEFAULT},   {"MD5", MEMCACHED_HASH_MD5},
    {"CRC", MEMCACHED_HASH_CRC},           {"FNV1_64", MEMCACHED_HASH_FNV1_64},
    {"FNV1A_64", MEMCACHED_HASH_FNV1A_64}, {"FNV1_32", MEMCACHED_HASH_FNV1_32},
    {"FNV1A_32", MEMCACHED_HASH_FNV1A_32}, {"MURMUR", MEMCACHED_HASH_MURMUR},
    {"JENKINS", MEMCACHED_HASH_JENKINS},   {"MURMUR3", MEMCACHED_HASH_MURMUR3},
};

static void print_hashes(const char *bytes, size_t length) {
  print_bytes(bytes, length);
  for (size_t index = 0; index < ARRAY_LENGTH(algorithms); index++) {
    printf(" %08" PRIx32, memcached_generate_hash_value(bytes, length, algorithms[index].hash));
  }
  printf("\n");
}

static void print_all_hashes(void) {
  for (size_t index = 0; index < ARRAY_LENGTH(algorithms); index++) {
    printf("%s%s", index == 0 ? "" : " ", algorithms[index].name);
  }
  printf("\n");
  print_hashes("", 0);
  for (size_t index = 0; index < key_count; index++) {
    print_hashes(keys[index].bytes, keys[index].length);
  }
}

/* Placements */

enum distribution { MODULA, KETAMA, KETAMA_WEIGHTED, KETAMA_SPY, KETAMA_SPY_WEIGHTED };

static const char *const distribution_names[] = {"MODULA", "KETAMA", "KETAMA_WEIGHTED", "KETAMA_SPY",
                                                 "KETAMA_SPY_WEIGHTED"};

enum { SERVERS_MAX = 60, DOWN_MAX = 4 };

struct server {
  char host[64];
  in_port_t port;
  uint32_t weight;
};

struct placement {
  char title[100];
  enum distribution distribution;
  size_t algorithm;
  bool sorted;
  const char *name_space;
  bool name_space_hashed;
  size_t server_count;
  struct server servers[SERVERS_MAX];
  size_t down_count;
  uint64_t down[DOWN_MAX]; /* one after the other; bit N is server N */
};

static void set(memcached_st *client, memcached_behavior_t behavior, uint64_t value) {
  MUST(memcached_behavior_set(client, behavior, value) == MEMCACHED_SUCCESS);
}

static void set_distribution(memcached_st *client, enum distribution distribution) {
  if (distribution == KETAMA_WEIGHTED || distribution == KETAMA_SPY_WEIGHTED) {
    set(client, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
  }
  if (distribution == KETAMA) {
    set(client, MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA);
  }
  if (distribution == KETAMA_SPY || distribution == KETAMA_SPY_WEIGHTED) {
    set(client, MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY);
  }
}

static void add_server(memcached_st *client, const struct server *server) {
  if (server->port == 0) {
    MUST(memcached_server_add_unix_socket_with_weight(client, server->host, server->weight) == MEMCACHED_SUCCESS);
  } else {
    MUST(memcached_server_add_with_weight(client, server->host, server->port, server->weight) == MEMCACHED_SUCCESS);
  }
}

static memcached_st *create_client(const struct placement *placement) {
  memcached_st *client = memcached_create(NULL);
  MUST(client != NULL);
  set(client, MEMCACHED_BEHAVIOR_VERIFY_KEY, 0); /* any bytes */
  for (size_t index = 0; index < placement->server_count; index++) {
    add_server(client, &placement->servers[index]);
  }
  set(client, MEMCACHED_BEHAVIOR_SORT_HOSTS, placement->sorted);
  /* Before the distribution, whose points the key hash may make, and after it, because it may change the hash. */
  set(client, MEMCACHED_BEHAVIOR_HASH, algorithms[placement->algorithm].hash);
  set_distribution(client, placement->distribution);
  set(client, MEMCACHED_BEHAVIOR_HASH, algorithms[placement->algorithm].hash);
  if (placement->name_space != NULL) {
    MUST(memcached_callback_set(client, MEMCACHED_CALLBACK_NAMESPACE, placement->name_space) == MEMCACHED_SUCCESS);
    set(client, MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY, placement->name_space_hashed);
  }
  return client;
}

static void set_down(memcached_st *client, uint64_t down) {
  for (uint32_t index = 0; index < memcached_server_count(client); index++) {
    time_t retry_at = (down >> index & 1) != 0 ? time(NULL) + 24 * 3600 : 0;
    memcached_instance_next_retry(memcached_server_instance_by_position(client, index), retry_at);
  }
  set(client, MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS, 1);
  set(client, MEMCACHED_BEHAVIOR_SORT_HOSTS, 0); /* rebuilds the ring */
}

static size_t owner_of(memcached_st *client, const struct placement *placement, const struct key *key) {
  const memcached_instance_st *owner = memcached_server_by_key(client, key->bytes, key->length, NULL);
  MUST(owner != NULL);
  for (size_t index = 0; index < placement->server_count; index++) {
    const struct server *server = &placement->servers[index];
    if (server->port == memcached_server_port(owner) && strcmp(server->host, memcached_server_name(owner)) == 0) {
      return index;
    }
  }
  MUST(!"a server of the list");
  return 0;
}

static void print_settings(const struct placement *placement) {
  printf("case %s\n", placement->title);
  printf("distribution %s\n", distribution_names[placement->distribution]);
  printf("hash %s\n", algorithms[placement->algorithm].name);
  if (placement->sorted) {
    printf("sort\n");
  }
  if (placement->name_space != NULL && placement->name_space_hashed) {
    printf("namespace ");
    print_bytes(placement->name_space, strlen(placement->name_space));
    printf("\n");
  }
  for (size_t index = 0; index < placement->server_count; index++) {
    const struct server *server = &placement->servers[index];
    printf("server %s %d %" PRIu32 "\n", server->host, server->port, server->weight);
  }
}

static void print_down(const struct placement *placement, uint64_t down) {
  printf("down");
  for (size_t index = 0; index < placement->server_count; index++) {
    if ((down >> index & 1) != 0) {
      printf(" %zu", index);
    }
  }
  printf("\n");
}

static void print_placement(const struct placement *placement) {
  memcached_st *client = create_client(placement);
  print_settings(placement);
  for (size_t step = 0; step < placement->down_count; step++) {
    set_down(client, placement->down[step]);
    print_down(placement, placement->down[step]);
  }
  printf("owners");
  for (size_t index = 0; index < key_count; index++) {
    printf(" %zu", owner_of(client, placement, &keys[index]));
  }
  printf("\n");
  memcached_free(client);
}

/* Cases. An algorithm is named by its place in the table: 0 is the default, 1 is MD5. */

static struct placement placement(enum distribution distribution, size_t algorithm, const char *title) {
  struct placement made = {.distribution = distribution, .algorithm = algorithm};
  snprintf(made.title, sizeof made.title, "%s", title);
  return made;
}

static void with_server(struct placement *placement, const char *host, in_port_t port, uint32_t weight) {
  MUST(placement->server_count < SERVERS_MAX);
  struct server *server = &placement->servers[placement->server_count++];
  snprintf(server->host, sizeof server->host, "%s", host);
  server->port = port;
  server->weight = weight;
}

/* Host names, an address, the default port and others, a unix socket, in no order. */
static void with_mixed_servers(struct placement *placement, const uint32_t weights[6]) {
  with_server(placement, "cache-c.example", 11211, weights[0]);
  with_server(placement, "cache-a.example", 11212, weights[1]);
  with_server(placement, "192.0.2.7", 11211, weights[2]);
  with_server(placement, "cache-a.example", 11211, weights[3]);
  with_server(placement, "/run/memcached/memcached.sock", 0, weights[4]);
  with_server(placement, "localhost", 8, weights[5]);
}

static void with_numbered_servers(struct placement *placement, size_t count) {
  for (size_t number = 0; number < count; number++) {
    char host[64];
    snprintf(host, sizeof host, "10.0.%zu.%zu", number / 10, number % 10);
    with_server(placement, host, 11211, 1);
  }
}

/* In the last four double precision would give some server another number of points. */
static const uint32_t weights[][6] = {
    {1, 1, 1, 1, 1, 1}, {1, 2, 3, 4, 5, 6}, {600, 300, 200, 1024, 512, 100}, {1, 1, 1, 1, 1, 1000000},
    {0, 1, 0, 2, 0, 3}, {4294967295, 4294967295, 4294967294, 1, 2147483648, 16777217},
    {16, 73, 22, 66, 2, 61}, {638, 141, 571, 129, 581, 580},
    {36962194, 371679, 2374143, 56905970, 30256219, 57689693},
    {995779365, 3068807884, 1387186428, 3325208289, 2132859926, 1961932640},
};

static void print_every_hash(void) {
  const enum distribution distributions[] = {MODULA, KETAMA, KETAMA_WEIGHTED, KETAMA_SPY, KETAMA_SPY_WEIGHTED};
  for (size_t index = 0; index < ARRAY_LENGTH(distributions); index++) {
    for (size_t algorithm = 0; algorithm < ARRAY_LENGTH(algorithms); algorithm++) {
      struct placement made = placement(distributions[index], algorithm, "every hash");
      with_mixed_servers(&made, weights[1]);
      print_placement(&made);
    }
  }
}

static void print_weights(void) {
  for (size_t index = 0; index < ARRAY_LENGTH(weights); index++) {
    struct placement made = placement(KETAMA_WEIGHTED, 1, "weights");
    with_mixed_servers(&made, weights[index]);
    print_placement(&made);
  }
}

static void print_server_counts(void) {
  const size_t counts[] = {1, 2, 3, 7, 25, 47, 50}; /* of the last three each gets 156 weighted points */
  for (size_t index = 0; index < ARRAY_LENGTH(counts); index++) {
    for (enum distribution distribution = MODULA; distribution <= KETAMA_WEIGHTED; distribution++) {
      struct placement made = placement(distribution, 1, "number of servers");
      with_numbered_servers(&made, counts[index]);
      print_placement(&made);
    }
  }
}

static void print_sorted(void) {
  for (enum distribution distribution = MODULA; distribution <= KETAMA_WEIGHTED; distribution++) {
    struct placement made = placement(distribution, 0, "sorted servers");
    made.sorted = true;
    with_mixed_servers(&made, weights[1]);
    with_server(&made, "cache-a.example", 1121, 1);
    print_placement(&made);
  }
}

static void print_namespaces(void) {
  static char longest[128];
  memset(longest, 'n', sizeof longest - 1);
  const char *const namespaces[] = {"app:", longest};
  for (size_t index = 0; index < 2 * ARRAY_LENGTH(namespaces); index++) {
    struct placement made = placement(index < 2 ? MODULA : KETAMA, 0, "namespace");
    made.name_space = namespaces[index % 2];
    made.name_space_hashed = true;
    with_mixed_servers(&made, weights[0]);
    print_placement(&made);
  }
  struct placement made = placement(KETAMA, 1, "namespace that is not hashed");
  made.name_space = "app:";
  with_mixed_servers(&made, weights[0]);
  print_placement(&made);
}

static void print_down_cases(void) {
  static const struct {
    const char *title;
    size_t count;
    uint64_t down[DOWN_MAX];
  } cases[] = {
      {"one down", 1, {0x04}},
      {"three down", 1, {0x29}},
      {"all but one down", 1, {0x3d}},
      {"down and up again", 2, {0x0a, 0}},
      {"one after the other", 3, {0x01, 0x03, 0x13}},
      {"all down: as before", 2, {0x12, 0x3f}},
  };
  for (size_t index = 0; index < ARRAY_LENGTH(cases); index++) {
    for (enum distribution distribution = MODULA; distribution <= KETAMA_SPY; distribution++) {
      struct placement made = placement(distribution, 1, cases[index].title);
      made.down_count = cases[index].count;
      memcpy(made.down, cases[index].down, sizeof made.down);
      with_mixed_servers(&made, weights[2]);
      print_placement(&made);
    }
  }
}

static void print_all_placements(void) {
  for (size_t index = 0; index < key_count; index++) {
    printf("key ");
    print_bytes(keys[index].bytes, keys[index].length);
    printf("\n");
  }
  print_every_hash();
  print_weights();
  print_server_counts();
  print_sorted();
  print_namespaces();
  print_down_cases();
}

int main(int argument_count, char **arguments) {
  add_keys();
  if (argument_count == 2 && strcmp(arguments[1], "hashes") == 0) {
    print_all_hashes();
  } else if (argument_count == 2 && strcmp(arguments[1], "placements") == 0) {
    print_all_placements();
  } else {
    fprintf(stderr, "usage: generate hashes|placements\n");
    return 2;
  }
  return 0;
}
