/* One connection to MariaDB, over its unix socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mysql.h>

typedef struct {
  MYSQL *link;
} database_st;

/* Connects; ends the program where it cannot. */
database_st database_open(const char *socket);
void database_close(database_st *of);

/* Runs statements, separated by semicolons, in one round trip. False where the last of them was
   refused because another transaction was in the way (a deadlock, a lock that was not given): the
   transaction has then been rolled back. Any other error ends the program. */
bool database_run(database_st *of, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with text of any length, which may hold any byte. */
bool database_run_text(database_st *of, const char *text, size_t bytes);

/* The rows of the last of the statements; NULL where database_run would answer false. To be given
   back with mysql_free_result. */
MYSQL_RES *database_ask(database_st *of, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The number in a column, 0 for NULL. */
uint32_t database_number(MYSQL_ROW row, unsigned column);

/* Text that grows, for statements that insert many rows. */
typedef struct {
  char *text;
  size_t bytes, room;
} statement_st;

void statement_add(statement_st *of, const char *format, ...) __attribute__((format(printf, 2, 3)));
void statement_add_bytes(statement_st *of, const char *bytes, size_t count);

/* One row more for an INSERT that takes many: begins it where need be, and runs it where it has
   become long. Is followed by statement_add of "(...)". */
void statement_begin_row(statement_st *of, database_st *database, const char *insert);

/* Runs what is left. */
void statement_finish(statement_st *of, database_st *database);
