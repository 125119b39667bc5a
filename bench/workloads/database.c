#include "database.h"

#include "../c/common.h"

#include <mysqld_error.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_BYTES = 1024, INSERT_BYTES = 1 << 20 };

database_st database_open(const char *socket) {
  database_st made = {.link = mysql_init(NULL)};
  if (!made.link)
    fail("no memory for a connection to the database");
  if (!mysql_real_connect(made.link, NULL, "root", NULL, NULL, 0, socket, CLIENT_MULTI_STATEMENTS))
    fail("%s: %s", socket, mysql_error(made.link));
  return made;
}

void database_close(database_st *of) {
  mysql_close(of->link);
}

/* Whether the error is one of those that a program of many clients lives with. */
static bool is_conflict(unsigned error) {
  return error == ER_LOCK_DEADLOCK || error == ER_LOCK_WAIT_TIMEOUT;
}

/* Sends the statements and goes through what comes back; the rows of the last of them. */
static bool ask_for(database_st *of, const char *text, size_t bytes, MYSQL_RES **rows) {
  int status = mysql_real_query(of->link, text, bytes);
  for (;;) {
    if (status > 0) {
      if (!is_conflict(mysql_errno(of->link)))
        fail("the database answers '%s' to: %.200s", mysql_error(of->link), text);
      if (mysql_rollback(of->link))
        fail("the database cannot roll back: %s", mysql_error(of->link));
      return false;
    }
    MYSQL_RES *result = mysql_store_result(of->link);
    if (!mysql_more_results(of->link)) {
      if (rows)
        *rows = result;
      else if (result)
        mysql_free_result(result);
      return true;
    }
    if (result)
      mysql_free_result(result);
    status = mysql_next_result(of->link);
  }
}

bool database_run_text(database_st *of, const char *text, size_t bytes) {
  return ask_for(of, text, bytes, NULL);
}

/* Writes a statement, or a part of one, into room for STATEMENT_BYTES; its size. */
static size_t write_text(char *text, const char *format, va_list arguments) {
  int bytes = vsnprintf(text, STATEMENT_BYTES, format, arguments);
  if (bytes < 0 || bytes >= STATEMENT_BYTES)
    fail("a statement is too long: %.100s", text);
  return (size_t) bytes;
}

bool database_run(database_st *of, const char *format, ...) {
  char text[STATEMENT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  size_t bytes = write_text(text, format, arguments);
  va_end(arguments);
  return ask_for(of, text, bytes, NULL);
}

MYSQL_RES *database_ask(database_st *of, const char *format, ...) {
  char text[STATEMENT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  size_t bytes = write_text(text, format, arguments);
  va_end(arguments);
  MYSQL_RES *rows = NULL;
  if (!ask_for(of, text, bytes, &rows))
    return NULL;
  if (!rows)
    fail("the database answers without rows to: %.200s", text);
  return rows;
}

uint32_t database_number(MYSQL_ROW row, unsigned column) {
  return row[column] ? (uint32_t) strtoul(row[column], NULL, 10) : 0;
}

static void make_room(statement_st *of, size_t more) {
  if (of->bytes + more <= of->room)
    return;
  of->room = 2 * (of->bytes + more);
  of->text = realloc(of->text, of->room);
  if (!of->text)
    fail("no memory for a statement of %zu bytes", of->room);
}

void statement_add_bytes(statement_st *of, const char *bytes, size_t count) {
  make_room(of, count);
  memcpy(of->text + of->bytes, bytes, count);
  of->bytes += count;
}

void statement_add(statement_st *of, const char *format, ...) {
  char text[STATEMENT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  size_t bytes = write_text(text, format, arguments);
  va_end(arguments);
  statement_add_bytes(of, text, bytes);
}

void statement_begin_row(statement_st *of, database_st *database, const char *insert) {
  if (of->bytes >= INSERT_BYTES)
    statement_finish(of, database);
  statement_add(of, "%s", of->bytes ? "," : insert);
}

void statement_finish(statement_st *of, database_st *database) {
  if (of->bytes && !database_run_text(database, of->text, of->bytes))
    fail("rows could not be inserted: %.200s", of->text);
  free(of->text);
  *of = (statement_st) {0};
}
