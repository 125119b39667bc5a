#include "histogram.h"

#include <math.h>

static size_t bucket_of(uint64_t ns) {
  if (ns < HISTOGRAM_STEPS)
    return ns;
  unsigned power = 63u - (unsigned) __builtin_clzll(ns);
  unsigned shift = power - 7;
  return (size_t) (shift + 1) * HISTOGRAM_STEPS + (size_t) (ns >> shift) - HISTOGRAM_STEPS;
}

/* The middle of a bucket, in nanoseconds. */
static double middle_ns(size_t bucket) {
  if (bucket < HISTOGRAM_STEPS)
    return (double) bucket;
  size_t shift = bucket / HISTOGRAM_STEPS - 1;
  return ldexp((double) (bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) + 0.5, (int) shift);
}

void histogram_add(histogram_st *of, uint64_t ns) {
  of->count++;
  of->total_ns += ns;
  of->buckets[bucket_of(ns)]++;
}

void histogram_merge(histogram_st *of, const histogram_st *other) {
  of->count += other->count;
  of->total_ns += other->total_ns;
  for (size_t at = 0; at < HISTOGRAM_BUCKETS; at++)
    of->buckets[at] += other->buckets[at];
}

double histogram_mean_us(const histogram_st *of) {
  return of->count ? (double) of->total_ns / (double) of->count / 1e3 : 0;
}

double histogram_us(const histogram_st *of, double share) {
  uint64_t wanted = (uint64_t) ceil(share * (double) of->count), seen = 0;
  if (wanted == 0)
    wanted = 1;
  for (size_t at = 0; at < HISTOGRAM_BUCKETS; at++) {
    seen += of->buckets[at];
    if (seen >= wanted)
      return middle_ns(at) / 1e3;
  }
  return 0;
}
