#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t rows_add(char text[TEXT_ROOM], size_t bytes, MYSQL_ROW row, unsigned columns) {
  for (unsigned at = 0; at < columns && bytes < TEXT_ROOM; at++)
    bytes += (size_t) snprintf(text + bytes, TEXT_ROOM - bytes, "%s%c", row[at] ? row[at] : "-",
                               at + 1 < columns ? ' ' : '\n');
  if (bytes >= TEXT_ROOM)
    fail("rows are longer than %d bytes", TEXT_ROOM);
  return bytes;
}

bool rows_take(session_st *session, value_st value, char text[TEXT_ROOM]) {
  bool is_text = value.bytes > 0 && value.bytes <= TEXT_ROOM && value.data[value.bytes - 1] == 0;
  if (is_text)
    memcpy(text, value.data, value.bytes);
  else
    session->wrong++;
  free(value.data);
  return is_text;
}

void rows_store(session_st *session, const char *key, const char *text, size_t bytes) {
  cache_set(&session->cache, key, text, bytes + 1);
}

uint32_t rows_number(MYSQL_RES *rows) {
  MYSQL_ROW row = mysql_fetch_row(rows);
  uint32_t number = row ? database_number(row, 0) : 0;
  mysql_free_result(rows);
  return number;
}

void rows_fill(session_st *session, const char *key, char text[TEXT_ROOM], const char *lock,
               const char *query) {
  bool locks = lock && session->cache.handle;
  session->queries++;
  MYSQL_RES *rows;
  while (!(rows = database_ask(&session->database, "%s%s%s%s", locks ? "BEGIN;" : "",
                               locks ? lock : "", locks ? ";" : "", query)))
    session->given_up++;
  size_t bytes = 0;
  unsigned columns = mysql_num_fields(rows);
  text[0] = 0;
  for (MYSQL_ROW row; (row = mysql_fetch_row(rows));)
    bytes = rows_add(text, bytes, row, columns);
  mysql_free_result(rows);
  rows_store(session, key, text, bytes);
  if (locks)
    database_run(&session->database, "COMMIT");
}

void rows_look_up(session_st *session, const char *key, char text[TEXT_ROOM], const char *lock,
                  const char *query) {
  value_st value = cache_get(&session->cache, key);
  if (!value.data || !rows_take(session, value, text))
    rows_fill(session, key, text, lock, query);
}
