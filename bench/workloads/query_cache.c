/* Query cache: results of a fixed size, looked up in the cache, else in the database and then
   stored (read, cache, read); some of them are updated, which deletes them from the cache.

   A value is the row's number and version, and a body that both determine to the last byte. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATION_LOOKUP, OPERATION_UPDATE };
enum { KEY_ROOM = 24 };

typedef struct {
  uint32_t row, version;
} head_st;

static void key_of(char key[KEY_ROOM], uint32_t row) {
  snprintf(key, KEY_ROOM, "result:%u", row);
}

/* Eight letters of the body; letters, so that statements need no escapes. */
static uint64_t letters(uint32_t row, uint32_t version, size_t place) {
  uint64_t bits = ((uint64_t) row << 32 | version) + place * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 31) * 0xbf58476d1ce4e5b9u;
  return ((bits ^ bits >> 29) & 0x0f0f0f0f0f0f0f0fu) + 0x4141414141414141u;
}

static size_t body_bytes(const settings_st *settings) {
  return settings->value_bytes - sizeof(head_st);
}

static void fill_body(char *body, size_t bytes, uint32_t row, uint32_t version) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    uint64_t word = letters(row, version, at);
    memcpy(body + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
  }
}

static bool is_body(const char *body, size_t bytes, uint32_t row, uint32_t version) {
  uint64_t differences = 0;
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    uint64_t word = letters(row, version, at), seen = word;
    memcpy(&seen, body + at, bytes - at < sizeof word ? bytes - at : sizeof word);
    differences |= word ^ seen;
  }
  return differences == 0;
}

static size_t version_rows(const settings_st *settings, size_t kind) {
  (void) kind;
  return settings->rows;
}

static void create(session_st *session) {
  size_t bytes = body_bytes(session->settings);
  char *body = malloc(bytes);
  database_run(&session->database, "CREATE TABLE results (id INT UNSIGNED PRIMARY KEY, "
                                   "version INT UNSIGNED NOT NULL, body MEDIUMBLOB NOT NULL)");
  statement_st insert = {0};
  for (uint32_t row = 0; row < session->settings->rows; row++) {
    fill_body(body, bytes, row, 1);
    statement_begin_row(&insert, &session->database, "INSERT INTO results VALUES ");
    statement_add(&insert, "(%u,1,'", row);
    statement_add_bytes(&insert, body, bytes);
    statement_add(&insert, "')");
  }
  statement_finish(&insert, &session->database);
  free(body);
}

static void read_versions(session_st *session) {
  MYSQL_RES *rows =
      database_ask(&session->database, "SELECT id, version FROM results WHERE id < %zu",
                   session->settings->rows);
  for (MYSQL_ROW row; (row = mysql_fetch_row(rows));)
    versions_start(&session->versions[0], database_number(row, 0), database_number(row, 1));
  mysql_free_result(rows);
}

/* The value that the cache is to hold for a row of the database. */
static value_st value_of(MYSQL_RES *rows) {
  MYSQL_ROW row = mysql_fetch_row(rows);
  if (!row)
    fail("the database lacks a row");
  size_t body = mysql_fetch_lengths(rows)[2];
  head_st head = {.row = database_number(row, 0), .version = database_number(row, 1)};
  value_st made = {.data = malloc(sizeof head + body), .bytes = sizeof head + body};
  memcpy(made.data, &head, sizeof head);
  memcpy(made.data + sizeof head, row[2], body);
  return made;
}

static void preload(session_st *session) {
  enum { ROWS_TOGETHER = 256 };
  char key[KEY_ROOM];
  for (uint32_t from = 0; from < session->settings->rows; from += ROWS_TOGETHER) {
    MYSQL_RES *rows = database_ask(
        &session->database, "SELECT id, version, body FROM results WHERE id >= %u AND id < %u",
        from, from + ROWS_TOGETHER);
    for (uint64_t left = mysql_num_rows(rows); left > 0; left--) {
      value_st value = value_of(rows);
      head_st head;
      memcpy(&head, value.data, sizeof head);
      key_of(key, head.row);
      cache_set(&session->cache, key, value.data, value.bytes);
      free(value.data);
    }
    mysql_free_result(rows);
  }
}

/* The row, from the database into the cache. Where rows are updated, it is stored under the row's
   shared lock: an update, which wants the other lock, comes before both or after both, so that its
   deletion comes after what is stored here. */
static value_st fill(session_st *session, const char *key, uint32_t row) {
  bool locks = session->settings->updates_percent > 0 && session->cache.handle;
  session->queries++;
  MYSQL_RES *rows;
  while (!(rows = database_ask(&session->database,
                               "%sSELECT id, version, body FROM results WHERE id = %u%s",
                               locks ? "BEGIN;" : "", row, locks ? " LOCK IN SHARE MODE" : "")))
    session->given_up++;
  value_st value = value_of(rows);
  mysql_free_result(rows);
  cache_set(&session->cache, key, value.data, value.bytes);
  if (locks)
    database_run(&session->database, "COMMIT");
  return value;
}

static void look_up(session_st *session, uint32_t row) {
  char key[KEY_ROOM];
  key_of(key, row);
  uint32_t oldest = versions_oldest(&session->versions[0], row);
  session_begin(session);
  value_st value = cache_get(&session->cache, key);
  if (!value.data)
    value = fill(session, key, row);
  session_end(session);
  head_st head = {0};
  memcpy(&head, value.data, value.bytes < sizeof head ? value.bytes : sizeof head);
  size_t bytes = body_bytes(session->settings);
  if (value.bytes != bytes + sizeof head || head.row != row ||
      !is_body(value.data + sizeof head, bytes, row, head.version))
    session->wrong++;
  else
    session_judge(session, 0, row, oldest, head.version);
  free(value.data);
}

/* Gives the row its next version; answers which, 0 where another transaction was in the way. */
static uint32_t try_update(session_st *session, uint32_t row, char *body, size_t bytes) {
  MYSQL_RES *rows = database_ask(
      &session->database, "BEGIN; SELECT version FROM results WHERE id = %u FOR UPDATE", row);
  if (!rows)
    return 0;
  uint32_t version = database_number(mysql_fetch_row(rows), 0) + 1;
  mysql_free_result(rows);
  fill_body(body, bytes, row, version);
  statement_st update = {0};
  statement_add(&update, "UPDATE results SET version = %u, body = '", version);
  statement_add_bytes(&update, body, bytes);
  statement_add(&update, "' WHERE id = %u; COMMIT", row);
  bool done = database_run_text(&session->database, update.text, update.bytes);
  free(update.text);
  return done ? version : 0;
}

static void update(session_st *session, uint32_t row) {
  char key[KEY_ROOM];
  key_of(key, row);
  size_t bytes = body_bytes(session->settings);
  char *body = malloc(bytes);
  versions_begin(&session->versions[0], row);
  session_begin(session);
  uint32_t version;
  while (!(version = try_update(session, row, body, bytes)))
    session->given_up++;
  cache_delete(&session->cache, key);
  session_end(session);
  versions_end(&session->versions[0], row, version);
  free(body);
}

static unsigned step(session_st *session) {
  uint32_t row = (uint32_t) keys_next(&session->keys);
  if (session_random(session, 100) < session->settings->updates_percent) {
    update(session, row);
    return OPERATION_UPDATE;
  }
  look_up(session, row);
  return OPERATION_LOOKUP;
}

const workload_st query_cache = {
    .name = "query-cache",
    .operations = {"lookup", "update"},
    .version_kinds = 1,
    .version_rows = version_rows,
    .create = create,
    .read_versions = read_versions,
    .preload = preload,
    .step = step,
};
