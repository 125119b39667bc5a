/* libmemcached's header, which must be installed, and what Farcache adds: non-blocking operations, meta commands. */
#pragma once

#include_next <libmemcached-1.0/memcached.h>
#include "libmemcached-1.0/request.h"

/* Has servers that are used over sockets spoken to in meta commands, where they know them. libmemcached 1.1.4 does not know it yet;
   its number is the next one. */
#define MEMCACHED_BEHAVIOR_META_PROTOCOL ((memcached_behavior_t) 38)
