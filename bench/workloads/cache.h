/* The cache, through libmemcached's functions only; or none. */
#pragma once

#include "../c/common.h"

typedef struct {
  memcached_st *handle; /* NULL: there is no cache, and nothing is ever found */
  bool loses_deletes;   /* plants stale values: what is to be deleted stays */
  bool damages;         /* plants wrong values: one bit of each is another */
  uint64_t lookups, hits, refused, failed;
} cache_st;

/* A value that was found; its memory is to be freed. */
typedef struct {
  char *data; /* NULL: not found */
  size_t bytes;
} value_st;

/* Opens the cache at host:port; NULL for none. */
cache_st cache_open(const char *server);
void cache_close(cache_st *of);

/* Has the library connect, by asking for what is not there. */
void cache_connect(cache_st *of);

value_st cache_get(cache_st *of, const char *key);

/* Several at once: values[i] is that of keys[i]. */
void cache_get_many(cache_st *of, size_t count, const char *const *keys, value_st *values);

/* Stores; a server may refuse it, which is counted. */
void cache_set(cache_st *of, const char *key, const void *data, size_t bytes);
void cache_delete(cache_st *of, const char *key);

/* Removes everything. */
void cache_flush(cache_st *of);
