/**
 * YCSB's records in a memcached: {@link io.farcache.ycsb.FarcacheDb} with Farcache's client, and
 * for comparison {@link io.farcache.ycsb.SpymemcachedDb} with spymemcached. Both store the same
 * bytes. {@link io.farcache.ycsb.NothingDb} stores nothing.
 */
package io.farcache.ycsb;
