/* Time limits for programs that are slow: libmemcached's own, of some seconds, are short under Valgrind on a busy machine. */
#pragma once

#include <libmemcached/memcached.h>
#include <stdlib.h>

/* The time limits become what PATIENCE_MS says, where it is set. */
static inline void be_patient(memcached_st *memc) {
  const char *limit = getenv("PATIENCE_MS");
  if (limit) {
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, strtoul(limit, NULL, 10));
    memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, strtoul(limit, NULL, 10));
  }
}
