/**
 * spymemcached's interface on top of Farcache's client:
 * {@link io.farcache.spymemcached.MemcachedClient} in place of
 * {@code net.spy.memcached.MemcachedClient}.
 */
package io.farcache.spymemcached;
