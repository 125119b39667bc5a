/* What one client of a workload has, and what a workload is. */
#pragma once

#include "cache.h"
#include "database.h"
#include "histogram.h"
#include "versions.h"

/* What is asked for. */
typedef struct {
  const char *server; /* of the cache; NULL for none */
  const char *socket; /* of the database */
  const char *schema;
  size_t rows; /* results, subscribers or users */
  size_t value_bytes;
  unsigned updates_percent;
  bool plants_stale, plants_wrong;
} settings_st;

enum { OPERATIONS_MAX = 8 }; /* NULL included */

/* One client. */
typedef struct {
  const settings_st *settings;
  cache_st cache;
  database_st database;
  random_st random;
  keys_st keys;
  versions_st *versions; /* a set for each kind of row, shared by all clients */
  uint64_t queries; /* asked because a lookup missed */
  uint64_t stale, wrong, given_up;
  uint64_t began_ns, took_ns; /* of the step that runs */
  histogram_st latencies[OPERATIONS_MAX];
} session_st;

/* A workload. */
typedef struct {
  const char *name;
  /* What a client does, NULL behind the last. */
  const char *operations[OPERATIONS_MAX];
  /* Kinds of rows that have versions. */
  size_t version_kinds;
  size_t (*version_rows)(const settings_st *settings, size_t kind);
  /* Fills the (empty) schema. */
  void (*create)(session_st *session);
  /* Reads the versions as they are. */
  void (*read_versions)(session_st *session);
  /* Stores in the cache what it is to begin with. */
  void (*preload)(session_st *session);
  /* Does one thing between session_begin and session_end; answers which. */
  unsigned (*step)(session_st *session);
} workload_st;

extern const workload_st query_cache, tatp, twitter;

/* The time of a step counts between these: choosing and checking is left out. */
void session_begin(session_st *of);
void session_end(session_st *of);

/* A number below a limit, and one between two, both included. */
uint32_t session_random(session_st *of, uint32_t limit);
uint32_t session_between(session_st *of, uint32_t low, uint32_t high);

/* Counts what a version that was seen is: right, stale or wrong. */
void session_judge(session_st *of, size_t kind, size_t row, uint32_t oldest, uint32_t seen);
