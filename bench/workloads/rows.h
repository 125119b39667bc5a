/* Values that are rows of the database as text: their columns with a space between, a line end
   behind each row, a zero byte behind all. No row is a value, too. */
#pragma once

#include "session.h"

enum { TEXT_ROOM = 4096, KEY_ROOM = 32, QUERY_ROOM = 512 };

/* Appends a row to a text of so many bytes; how many it has then, without the zero byte. */
size_t rows_add(char text[TEXT_ROOM], size_t bytes, MYSQL_ROW row, unsigned columns);

/* The text of a key, out of the cache, else as rows_fill. */
void rows_look_up(session_st *session, const char *key, char text[TEXT_ROOM], const char *lock,
                  const char *query);

/* The text of a key by a query, then stored in the cache.

   "lock" is a statement that takes shared locks, which are held until the text is stored: whoever
   writes these rows takes the other lock first, so the writer's deletion comes after what is stored
   here, or what is read here is what was written. NULL where the rows are never written. */
void rows_fill(session_st *session, const char *key, char text[TEXT_ROOM], const char *lock,
               const char *query);

/* Takes over the text of a value that was found; false, and counted, where it is none. */
bool rows_take(session_st *session, value_st value, char text[TEXT_ROOM]);

/* Stores a text of so many bytes. */
void rows_store(session_st *session, const char *key, const char *text, size_t bytes);

/* One number of a result, 0 where there is none; gives the result back. */
uint32_t rows_number(MYSQL_RES *rows);
