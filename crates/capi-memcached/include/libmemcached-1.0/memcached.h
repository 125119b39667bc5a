/* libmemcached's header, which must be installed, and Farcache's non-blocking operations. */
#pragma once

#include_next <libmemcached-1.0/memcached.h>
#include "libmemcached-1.0/request.h"
