/**
 * A file system for Hadoop whose data are blobs in Farcache, and whose names are those of a
 * directory that all its users see.
 */
package io.farcache.hadoop;
