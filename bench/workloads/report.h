/* What a run prints: one JSON object. */
#pragma once

#include "session.h"

/* What was counted while time was measured, of one client or of all. */
typedef struct {
  uint64_t lookups, hits, refused, queries;
} counts_st;

counts_st counts_of(const session_st *session);
counts_st counts_less(counts_st later, counts_st earlier);
counts_st counts_more(counts_st left, counts_st right);

/* Sums up clients into the first of them, and prints. */
void report_print(const workload_st *workload, session_st *clients, size_t count, counts_st counts,
                  double seconds);

/* Whether all clients have read what they should. */
bool report_is_right(const session_st *clients, size_t count);
