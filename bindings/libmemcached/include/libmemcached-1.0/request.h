/* Non-blocking operations: Farcache's addition to libmemcached, source-compatible with RDMA-Memcached 0.9.6. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <libmemcached-1.0/types.h>
#include <libmemcached-1.0/types/return.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation. Only memcached_request_create makes one; there is more to it than these fields. */
typedef struct memcached_request_st {
  unsigned cmp_cntr;   /* 1 when it is complete, 0 while it is not */
  uint64_t response;   /* how it ended: a memcached_return_t */
  void *value;         /* the value to store, or room for the one to get, or NULL to have room allocated */
  size_t value_length; /* its length in bytes; after a get that of the value */
  uint32_t flags;      /* after a get those of the item */
} memcached_request_st;

/* Makes a request. To get with a NULL value means that each get allocates one, which the caller frees with free().

   To get with a value and a length of 0 means room for a value of any length, as programs for RDMA-Memcached do it. Nothing checks
   that: a value that another program has stored and that is longer than the room is written beyond its end. Give the length. */
memcached_request_st *memcached_request_create(memcached_st *memc, void *value, size_t value_length, uint32_t flags);

/* Stores the request's value. After memcached_iset the value belongs to the library until the request is complete; after
   memcached_bset the caller may reuse it. The key may be reused after either. */
memcached_return_t memcached_iset(memcached_st *memc, const char *key, size_t key_length, memcached_request_st *request,
                                  time_t expiration, uint32_t flags);
memcached_return_t memcached_bset(memcached_st *memc, const char *key, size_t key_length, memcached_request_st *request,
                                  time_t expiration, uint32_t flags);

/* Gets a value into the request's room, which belongs to the library until the request is complete. A value that does not
   fit is not written: the response is MEMCACHED_E2BIG, and value_length what there would have to be. Room that was given
   without a length is taken for large enough. */
memcached_return_t memcached_iget(memcached_st *memc, const char *key, size_t key_length, memcached_request_st *request);
memcached_return_t memcached_bget(memcached_st *memc, const char *key, size_t key_length, memcached_request_st *request);

/* MEMCACHED_IN_PROGRESS, or how the request ended. */
memcached_return_t memcached_test(memcached_st *memc, memcached_request_st *request);

/* Waits until the request is complete; how it ended. */
memcached_return_t memcached_wait(memcached_st *memc, memcached_request_st *request);

/* Frees a request. One that is under way is given up: it may still take effect at the server, and this waits until the
   network has let go of the caller's memory. A request may outlive its memcached_st. */
void memcached_request_free(memcached_st *memc, memcached_request_st *request);

#ifdef __cplusplus
}
#endif
