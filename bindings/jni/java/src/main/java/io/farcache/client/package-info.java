/**
 * Farcache's client: a key-value store that speaks memcached's protocols, over sockets and over
 * fast networks.
 *
 * <p>{@link io.farcache.client.FarcacheClient} is where to begin. Everything thrown is a
 * {@link io.farcache.client.FarcacheException}.
 */
package io.farcache.client;
