/* libmemcachedutil: pools and single questions: pools HOST PORT. */
#include <libmemcached/memcached.h>
#include <libmemcached/util.h>

#include "show.h"

static void pools(void) {
  static const char *const texts[] = {"--SERVER=localhost --POOL-MIN=2 --POOL-MAX=3", "--SERVER=localhost",
                                      "--POOL-MIN=5 --POOL-MAX=3", "--POOL-MIN=0", "--NONSENSE"};
  for (unsigned at = 0; at < sizeof(texts) / sizeof(*texts); at++) {
    memcached_pool_st *pool = memcached_pool(texts[at], strlen(texts[at]));
    SHOW("%s: %d", texts[at], pool != NULL);
    SHOW(" %d\n", memcached_pool_destroy(pool) == NULL);
  }
  memcached_st *master = memcached_create(NULL);
  memcached_server_add(master, "localhost", 7);
  SHOW("none %d %d\n", memcached_pool_create(master, 0, 1) == NULL, memcached_pool_create(master, 3, 2) == NULL);
  memcached_pool_st *pool = memcached_pool_create(master, 1, 2);
  memcached_return_t rc;
  memcached_st *one = memcached_pool_pop(pool, false, &rc);
  SHOW("pop %d %d servers %u\n", one != NULL && one != master, rc, memcached_server_count(one));
  memcached_st *other = memcached_pool_pop(pool, true, &rc);
  SHOW("pop %d %d\n", other != NULL && other != one, rc);
  SHOW("empty %d", memcached_pool_pop(pool, false, &rc) == NULL);
  SHOW(" %d\n", rc);
  struct timespec none = {0, 0}, second = {1, 0};
  SHOW("empty %d", memcached_pool_fetch(pool, &none, &rc) == NULL);
  SHOW(" %d\n", rc);
  SHOW("late %d", memcached_pool_fetch(pool, &second, &rc) == NULL);
  SHOW(" %d\n", rc);
  uint64_t value = 0;
  SHOW("set %d %d\n", memcached_pool_behavior_set(pool, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 77),
       memcached_pool_behavior_set(pool, MEMCACHED_BEHAVIOR_CORK, 1));
  SHOW("get %d", memcached_pool_behavior_get(pool, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, &value));
  SHOW(" %llu\n", (unsigned long long) value);
  SHOW("push %d %d\n", memcached_pool_push(pool, one), memcached_pool_release(pool, other));
  SHOW("push nothing %d %d\n", memcached_pool_push(pool, NULL), memcached_pool_push(NULL, one));
  one = memcached_pool_fetch(pool, NULL, &rc);
  SHOW("new settings %llu\n", (unsigned long long) memcached_behavior_get(one, MEMCACHED_BEHAVIOR_POLL_TIMEOUT));
  memcached_pool_push(pool, one);
  SHOW("destroy %d %d\n", memcached_pool_destroy(pool) == master, memcached_pool_destroy(NULL) == NULL);
  memcached_free(master);
}

static void questions(const char *host, in_port_t port) {
  memcached_return_t rc;
  SHOW("ping %d", libmemcached_util_ping(host, port, &rc));
  SHOW(" %d\n", rc);
  SHOW("pid %d", libmemcached_util_getpid(host, port, &rc) > 0);
  SHOW(" %d\n", rc);
  SHOW("flush %d", libmemcached_util_flush(host, port, &rc));
  SHOW(" %d\n", rc);
  memcached_st *memc = memcached_create(NULL);
  memcached_server_add(memc, host, port);
  SHOW("version %d %d\n", libmemcached_util_version_check(memc, 1, 0, 0),
       libmemcached_util_version_check(memc, 200, 0, 0));
  memcached_free(memc);
}

int main(int count, char **arguments) {
  pools();
  if (count > 2) {
    questions(arguments[1], (in_port_t) atoi(arguments[2]));
  }
  return 0;
}
