/**
 * YCSB's records in a memcached: {@link io.farcache.ycsb.FarcacheDb} with Farcache's client, and
 * for comparison {@link io.farcache.ycsb.SpymemcachedDb} with spymemcached. Both store the same
 * bytes.
 */
package io.farcache.ycsb;
