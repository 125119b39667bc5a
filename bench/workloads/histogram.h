/* Latencies in buckets, so that any number of them takes the same memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Buckets for each power of two: a latency is told with an error of at most 1/128. */
enum { HISTOGRAM_STEPS = 128, HISTOGRAM_BUCKETS = (64 - 6) * HISTOGRAM_STEPS };

typedef struct {
  uint64_t count, total_ns, buckets[HISTOGRAM_BUCKETS];
} histogram_st;

void histogram_add(histogram_st *of, uint64_t ns);

/* Adds all of another's. */
void histogram_merge(histogram_st *of, const histogram_st *other);

/* The mean in microseconds; 0 where there is nothing. */
double histogram_mean_us(const histogram_st *of);

/* The latency in microseconds that a share of all (0 to 1) does not exceed. */
double histogram_us(const histogram_st *of, double share);
