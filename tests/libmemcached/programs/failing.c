/* Servers that are down, copies on several servers, expiries, errors: failing HOST PORT HOST PORT DEAD-PORT. */
#include <libmemcached/memcached.h>

#include "show.h"

#define LENGTH(text) (text), strlen(text)

static const char *hosts[2];
static in_port_t ports[2], dead_port;

static memcached_st *connect_to(bool first, bool second, bool dead, bool binary) {
  memcached_st *memc = memcached_create(NULL);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, binary);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT);
  if (first)
    memcached_server_add(memc, hosts[0], ports[0]);
  if (second)
    memcached_server_add(memc, hosts[1], ports[1]);
  if (dead)
    memcached_server_add(memc, "127.0.0.1", dead_port);
  return memc;
}

static void key_of(char *key, unsigned number) {
  sprintf(key, "failing-%u", number);
}

/* How many of a hundred keys can be stored and read back. */
static void count_usable(const char *title, memcached_st *memc) {
  unsigned stored = 0, read = 0;
  char key[32];
  for (unsigned number = 0; number < 100; number++) {
    key_of(key, number);
    stored += memcached_success(memcached_set(memc, LENGTH(key), LENGTH("value"), 0, 0));
    size_t length;
    uint32_t flags;
    memcached_return_t rc;
    char *value = memcached_get(memc, LENGTH(key), &length, &flags, &rc);
    read += memcached_success(rc) && length == 5 && memcmp(value, "value", 5) == 0;
    free(value);
  }
  SHOW("%s: stored %u read %u of 100\n", title, stored, read);
}

/* A server that has failed gives its keys to the others. */
static void ejected(bool binary) {
  memcached_st *memc = connect_to(true, true, true, binary);
  count_usable("one down", memc);
  memcached_free(memc);
  memc = connect_to(true, true, true, binary);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT, 1);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 1000);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS, 1);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_DEAD_TIMEOUT, 1000);
  /* Finds out. */
  for (unsigned number = 0; number < 100; number++) {
    char key[32];
    key_of(key, number);
    memcached_set(memc, LENGTH(key), LENGTH("value"), 0, 0);
  }
  count_usable("removed", memc);
  const memcached_instance_st *lost = memcached_server_get_last_disconnect(memc);
  SHOW("lost %d %d\n", lost != NULL, lost && memcached_server_port(lost) == dead_port);
  SHOW("error %d %d\n", memcached_error(memc) != NULL, memcached_last_error_errno(memc) >= 0);
  memcached_error_print(memc);
  memcached_free(memc);
}

/* Copies go to the servers that follow the key's. */
static void copied(void) {
  memcached_st *both = connect_to(true, true, false, true);
  SHOW("replicas %d\n", memcached_behavior_set(both, MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS, 1));
  SHOW("flush %d\n", memcached_flush(both, 0));
  char key[32];
  for (unsigned number = 0; number < 50; number++) {
    key_of(key, number);
    memcached_set(both, LENGTH(key), LENGTH("copy"), 0, 0);
  }
  memcached_quit(both);
  for (unsigned server = 0; server < 2; server++) {
    memcached_st *one = connect_to(server == 0, server == 1, false, true);
    unsigned found = 0;
    for (unsigned number = 0; number < 50; number++) {
      key_of(key, number);
      found += memcached_success(memcached_exist(one, LENGTH(key)));
    }
    SHOW("server %u has %u of 50\n", server, found);
    memcached_free(one);
  }
  /* What one server lost is read from the other. */
  memcached_st *one = connect_to(true, false, false, true);
  memcached_flush(one, 0);
  memcached_free(one);
  unsigned read = 0;
  for (unsigned number = 0; number < 50; number++) {
    size_t length;
    uint32_t flags;
    memcached_return_t rc;
    key_of(key, number);
    char *value = memcached_get(both, LENGTH(key), &length, &flags, &rc);
    read += memcached_success(rc);
    free(value);
  }
  /* libmemcached reads some of them, Farcache all. */
  SHOW("some are read from the copies: %d\n", read > 10);
  memcached_free(both);
}

static void expired(bool binary) {
  memcached_st *memc = connect_to(true, false, false, binary);
  SHOW("negative %d", memcached_set(memc, LENGTH("gone"), LENGTH("x"), -1, 0));
  if (!binary) { /* The 32 bits of the binary protocol are a time that is far away for some servers only. */
    SHOW(" %d", memcached_exist(memc, LENGTH("gone")));
    memcached_set(memc, LENGTH("gone"), LENGTH("x"), 0, 0);
    SHOW(" touch %d", memcached_touch(memc, LENGTH("gone"), -1));
    SHOW(" %d", memcached_exist(memc, LENGTH("gone")));
  }
  SHOW("\n");
  memcached_free(memc);
}

/* Many keys of which some are on a server that is down. */
static void many(bool binary) {
  memcached_st *memc = connect_to(true, true, false, binary);
  char keys[300][32];
  const char *names[300];
  size_t lengths[300];
  for (unsigned number = 0; number < 300; number++) {
    key_of(keys[number], number);
    names[number] = keys[number];
    lengths[number] = strlen(keys[number]);
    memcached_set(memc, names[number], lengths[number], LENGTH("of many"), 0, number);
  }
  memcached_return_t rc = memcached_mget(memc, names, lengths, 300);
  SHOW("mget %d", rc);
  unsigned count = 0;
  memcached_result_st result;
  memcached_result_create(memc, &result);
  while (memcached_fetch_result(memc, &result, &rc)) {
    char key[32];
    sprintf(key, "%.*s", (int) memcached_result_key_length(&result), memcached_result_key_value(&result));
    unsigned number = (unsigned) atoi(key + strlen("failing-"));
    count += number == memcached_result_flags(&result) && memcached_result_length(&result) == 7;
  }
  memcached_result_free(&result);
  SHOW(" fetched %u end %d\n", count, rc);
  /* Not all are fetched: the rest must not get in the way of what follows. */
  SHOW("mget %d", memcached_mget(memc, names, lengths, 300));
  SHOW(" one %d", memcached_fetch_result(memc, NULL, &rc) != NULL);
  size_t length;
  uint32_t flags;
  char *value = memcached_get(memc, names[7], lengths[7], &length, &flags, &rc);
  SHOW(" then %d %u\n", rc, flags);
  free(value);
  memcached_free(memc);
}

int main(int count, char **arguments) {
  if (count < 6)
    return 1;
  for (int at = 0; at < 2; at++) {
    hosts[at] = arguments[1 + 2 * at];
    ports[at] = (in_port_t) atoi(arguments[2 + 2 * at]);
  }
  dead_port = (in_port_t) atoi(arguments[5]);
  for (int binary = 0; binary < 2; binary++) {
    SHOW("binary %d\n", binary);
    expired(binary);
    many(binary);
    ejected(binary);
  }
  copied();
  return 0;
}
