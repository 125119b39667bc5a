#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

counts_st counts_of(const session_st *session) {
  return (counts_st) {.lookups = session->cache.lookups,
                      .hits = session->cache.hits,
                      .refused = session->cache.refused,
                      .queries = session->queries};
}

counts_st counts_less(counts_st later, counts_st earlier) {
  return (counts_st) {.lookups = later.lookups - earlier.lookups,
                      .hits = later.hits - earlier.hits,
                      .refused = later.refused - earlier.refused,
                      .queries = later.queries - earlier.queries};
}

counts_st counts_more(counts_st left, counts_st right) {
  return (counts_st) {.lookups = left.lookups + right.lookups,
                      .hits = left.hits + right.hits,
                      .refused = left.refused + right.refused,
                      .queries = left.queries + right.queries};
}

static void print_latencies(const char *name, const histogram_st *of) {
  printf("{\"name\": \"%s\", \"count\": %lu, \"mean_us\": %.3f, \"p50_us\": %.3f, "
         "\"p90_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f}",
         name, (unsigned long) of->count, histogram_mean_us(of), histogram_us(of, 0.5),
         histogram_us(of, 0.9), histogram_us(of, 0.99), histogram_us(of, 0.999));
}

/* The latency that one in so many exceeds, four points for each power of ten. */
static void print_slower(const histogram_st *of) {
  printf("\"slower\": [");
  for (int at = 0; pow(10, at / 4.0) <= (double) of->count; at++) {
    double one_in = pow(10, at / 4.0);
    printf("%s[%.3f, %.3f]", at ? ", " : "", one_in, histogram_us(of, 1 - 1 / one_in));
  }
  printf("]");
}

void report_print(const workload_st *workload, session_st *clients, size_t count, counts_st counts,
                  double seconds) {
  histogram_st *all = calloc(1, sizeof *all);
  if (!all)
    fail("no memory for the report");
  uint64_t stale = 0, wrong = 0, failed = 0, given_up = 0;
  for (size_t at = 0; at < count; at++) {
    stale += clients[at].stale;
    wrong += clients[at].wrong;
    failed += clients[at].cache.failed;
    given_up += clients[at].given_up;
  }
  printf("{\"seconds\": %.6f, \"operations\": [", seconds);
  for (unsigned which = 0; workload->operations[which]; which++) {
    for (size_t at = 1; at < count; at++)
      histogram_merge(&clients[0].latencies[which], &clients[at].latencies[which]);
    histogram_merge(all, &clients[0].latencies[which]);
    printf("%s", which ? ", " : "");
    print_latencies(workload->operations[which], &clients[0].latencies[which]);
  }
  printf("], \"all\": ");
  print_latencies("all", all);
  printf(", ");
  print_slower(all);
  printf(", \"lookups\": %lu, \"hits\": %lu, \"queries\": %lu, \"refused\": %lu, "
         "\"given_up\": %lu, \"stale\": %lu, \"wrong\": %lu, \"failed\": %lu}\n",
         (unsigned long) counts.lookups, (unsigned long) counts.hits,
         (unsigned long) counts.queries, (unsigned long) counts.refused, (unsigned long) given_up,
         (unsigned long) stale, (unsigned long) wrong, (unsigned long) failed);
  free(all);
}

bool report_is_right(const session_st *clients, size_t count) {
  for (size_t at = 0; at < count; at++) {
    if (clients[at].stale + clients[at].wrong + clients[at].cache.failed)
      return false;
  }
  return true;
}
