#include "cache.h"

#include <stdlib.h>
#include <string.h>

cache_st cache_open(const char *server) {
  return (cache_st) {.handle = server ? connect_to(server, false) : NULL};
}

void cache_connect(cache_st *of) {
  static const char absent[] = "connecting";
  if (!of->handle)
    return;
  size_t bytes;
  uint32_t flags;
  memcached_return_t outcome;
  free(memcached_get(of->handle, absent, strlen(absent), &bytes, &flags, &outcome));
  if (outcome != MEMCACHED_NOTFOUND)
    of->failed++;
}

void cache_close(cache_st *of) {
  if (of->handle)
    memcached_free(of->handle);
}

value_st cache_get(cache_st *of, const char *key) {
  value_st found = {0};
  of->lookups++;
  if (!of->handle)
    return found;
  uint32_t flags;
  memcached_return_t outcome;
  found.data = memcached_get(of->handle, key, strlen(key), &found.bytes, &flags, &outcome);
  if (found.data)
    of->hits++;
  else if (outcome != MEMCACHED_NOTFOUND)
    of->failed++;
  return found;
}

/* Which of the keys a result is for; they come in the order asked, but for those not found. */
static size_t place_of(memcached_result_st *result, size_t count, const char *const *keys) {
  size_t length = memcached_result_key_length(result), at = 0;
  while (at < count && !(strlen(keys[at]) == length &&
                         memcmp(keys[at], memcached_result_key_value(result), length) == 0))
    at++;
  return at;
}

static void fetch(cache_st *of, size_t count, const char *const *keys, value_st *values) {
  memcached_result_st result;
  memcached_return_t outcome;
  memcached_result_create(of->handle, &result);
  while (memcached_fetch_result(of->handle, &result, &outcome)) {
    size_t place = place_of(&result, count, keys);
    if (place == count || values[place].data) {
      of->failed++;
      continue;
    }
    values[place].bytes = memcached_result_length(&result);
    values[place].data = memcached_result_take_value(&result);
    of->hits++;
  }
  if (outcome != MEMCACHED_END && outcome != MEMCACHED_NOTFOUND)
    of->failed++;
  memcached_result_free(&result);
}

void cache_get_many(cache_st *of, size_t count, const char *const *keys, value_st *values) {
  size_t lengths[count + 1];
  for (size_t at = 0; at < count; at++) {
    lengths[at] = strlen(keys[at]);
    values[at] = (value_st) {0};
  }
  of->lookups += count;
  if (!of->handle || count == 0)
    return;
  if (memcached_failed(memcached_mget(of->handle, keys, lengths, count)))
    of->failed++;
  else
    fetch(of, count, keys, values);
}

void cache_set(cache_st *of, const char *key, const void *data, size_t bytes) {
  if (!of->handle)
    return;
  char *copy = of->damages ? malloc(bytes) : NULL;
  if (copy) {
    memcpy(copy, data, bytes);
    copy[0] ^= 1;
    data = copy;
  }
  if (memcached_set(of->handle, key, strlen(key), data, bytes, 0, 0))
    of->refused++;
  free(copy);
}

void cache_delete(cache_st *of, const char *key) {
  if (!of->handle || of->loses_deletes)
    return;
  memcached_return_t outcome = memcached_delete(of->handle, key, strlen(key), 0);
  if (outcome != MEMCACHED_SUCCESS && outcome != MEMCACHED_NOTFOUND)
    of->failed++;
}

void cache_flush(cache_st *of) {
  if (of->handle)
    check(of->handle, memcached_flush(of->handle, 0), "flushing");
}
