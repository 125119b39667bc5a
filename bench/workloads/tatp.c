/* TATP (Telecom Application Transaction Processing, version 1.0 of its description): four tables,
   seven transactions. What is read is cached, what is written is deleted from the cache.

   Three kinds of values: a subscriber, one of its access data, and one of its special facilities
   with the call forwardings that belong to it. Each holds its numbers and a version; a facility's
   version grows with its call forwardings. Access data are never written. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  GET_SUBSCRIBER_DATA,
  GET_NEW_DESTINATION,
  GET_ACCESS_DATA,
  UPDATE_SUBSCRIBER_DATA,
  UPDATE_LOCATION,
  INSERT_CALL_FORWARDING,
  DELETE_CALL_FORWARDING
};

/* Parts of a hundred of each, in this order. */
static const uint32_t shares[] = {35, 10, 35, 2, 14, 2, 2};

enum { SUBSCRIBER_VERSIONS, FACILITY_VERSIONS };
enum { KINDS = 4 }; /* of access data and of facilities that a subscriber may have, from 1 on */

/* Subscribers have the numbers 1 to N. */
static size_t subscriber_row(uint32_t subscriber) {
  return subscriber - 1;
}

static size_t facility_row(uint32_t subscriber, uint32_t kind) {
  return (size_t) (subscriber - 1) * KINDS + kind - 1;
}

static size_t version_rows(const settings_st *settings, size_t kind) {
  return kind == SUBSCRIBER_VERSIONS ? settings->rows : settings->rows * KINDS;
}

/* The description's non-uniform choice, whose constant is this one for up to a million. */
static uint32_t any_subscriber(session_st *session) {
  uint32_t count = (uint32_t) session->settings->rows;
  return (session_random(session, 65536) | session_between(session, 1, count)) % count + 1;
}

/* The tables, without the description's foreign keys: their checks would take locks that the order
   of locks here does not know. */
static void create_tables(database_st *database) {
  database_run(database,
               "CREATE TABLE subscriber (s_id INT UNSIGNED PRIMARY KEY, version INT UNSIGNED "
               "NOT NULL, sub_nbr CHAR(15) NOT NULL UNIQUE, bits CHAR(10) NOT NULL, "
               "hexes CHAR(10) NOT NULL, bytes2 CHAR(30) NOT NULL, msc_location INT UNSIGNED, "
               "vlr_location INT UNSIGNED)");
  database_run(database,
               "CREATE TABLE access_info (s_id INT UNSIGNED, ai_type TINYINT UNSIGNED, data1 "
               "TINYINT UNSIGNED, data2 TINYINT UNSIGNED, data3 CHAR(3), data4 CHAR(5), "
               "PRIMARY KEY (s_id, ai_type))");
  database_run(database,
               "CREATE TABLE special_facility (s_id INT UNSIGNED, sf_type TINYINT UNSIGNED, "
               "version INT UNSIGNED NOT NULL, is_active TINYINT UNSIGNED, error_cntrl TINYINT "
               "UNSIGNED, data_a TINYINT UNSIGNED, data_b CHAR(5), PRIMARY KEY (s_id, sf_type))");
  database_run(database,
               "CREATE TABLE call_forwarding (s_id INT UNSIGNED, sf_type TINYINT UNSIGNED, "
               "start_time TINYINT UNSIGNED, end_time TINYINT UNSIGNED, numberx CHAR(15), "
               "PRIMARY KEY (s_id, sf_type, start_time))");
}

/* Letters and digits of a width. */
static const char *letters(session_st *session, char *room, unsigned width, uint32_t base) {
  for (unsigned at = 0; at < width; at++)
    room[at] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[session_random(session, base)];
  room[width] = 0;
  return room;
}

static void create_subscribers(session_st *session) {
  statement_st insert = {0};
  char bits[11], hexes[11], bytes2[31];
  for (uint32_t subscriber = 1; subscriber <= session->settings->rows; subscriber++) {
    statement_begin_row(&insert, &session->database, "INSERT INTO subscriber VALUES ");
    statement_add(&insert, "(%u,1,'%015u','%s','%s','%s',%u,%u)", subscriber, subscriber,
                  letters(session, bits, 10, 2), letters(session, hexes, 10, 16),
                  letters(session, bytes2, 30, 10), session_random(session, UINT32_MAX),
                  session_random(session, UINT32_MAX));
  }
  statement_finish(&insert, &session->database);
}

/* Which of the four kinds a subscriber has: one to four of them, each number as likely. */
static unsigned some_kinds(session_st *session) {
  unsigned kinds = 0, wanted = session_between(session, 1, KINDS);
  while ((unsigned) __builtin_popcount(kinds) < wanted)
    kinds |= 1u << session_random(session, KINDS);
  return kinds;
}

static void create_access_info(session_st *session) {
  statement_st insert = {0};
  char data3[4], data4[6];
  for (uint32_t subscriber = 1; subscriber <= session->settings->rows; subscriber++) {
    unsigned kinds = some_kinds(session);
    for (uint32_t kind = 1; kind <= KINDS; kind++) {
      if (!(kinds >> (kind - 1) & 1))
        continue;
      statement_begin_row(&insert, &session->database, "INSERT INTO access_info VALUES ");
      statement_add(&insert, "(%u,%u,%u,%u,'%s','%s')", subscriber, kind,
                    session_random(session, 256), session_random(session, 256),
                    letters(session, data3, 3, 36), letters(session, data4, 5, 36));
    }
  }
  statement_finish(&insert, &session->database);
}

static void create_facilities(session_st *session) {
  statement_st facilities = {0}, forwardings = {0};
  char data_b[6], number[16];
  for (uint32_t subscriber = 1; subscriber <= session->settings->rows; subscriber++) {
    unsigned kinds = some_kinds(session);
    for (uint32_t kind = 1; kind <= KINDS; kind++) {
      if (!(kinds >> (kind - 1) & 1))
        continue;
      statement_begin_row(&facilities, &session->database, "INSERT INTO special_facility VALUES ");
      statement_add(&facilities, "(%u,%u,1,%u,%u,%u,'%s')", subscriber, kind,
                    session_random(session, 100) < 85, session_random(session, 256),
                    session_random(session, 256), letters(session, data_b, 5, 36));
      /* None to three of the starts 0, 8 and 16. */
      uint32_t count = session_random(session, 4), first = session_random(session, 3);
      for (uint32_t at = 0; at < count; at++) {
        uint32_t start = 8 * ((first + at) % 3);
        statement_begin_row(&forwardings, &session->database,
                            "INSERT INTO call_forwarding VALUES ");
        statement_add(&forwardings, "(%u,%u,%u,%u,'%s')", subscriber, kind, start,
                      start + session_between(session, 1, 8), letters(session, number, 15, 10));
      }
    }
  }
  statement_finish(&facilities, &session->database);
  statement_finish(&forwardings, &session->database);
}

static void create(session_st *session) {
  create_tables(&session->database);
  create_subscribers(session);
  create_access_info(session);
  create_facilities(session);
}

static void read_versions(session_st *session) {
  MYSQL_RES *rows = database_ask(&session->database, "SELECT s_id, version FROM subscriber");
  for (MYSQL_ROW row; (row = mysql_fetch_row(rows));)
    versions_start(&session->versions[SUBSCRIBER_VERSIONS],
                   subscriber_row(database_number(row, 0)), database_number(row, 1));
  mysql_free_result(rows);
  rows = database_ask(&session->database, "SELECT s_id, sf_type, version FROM special_facility");
  for (MYSQL_ROW row; (row = mysql_fetch_row(rows));)
    versions_start(&session->versions[FACILITY_VERSIONS],
                   facility_row(database_number(row, 0), database_number(row, 1)),
                   database_number(row, 2));
  mysql_free_result(rows);
}

static void subscriber_key(char key[KEY_ROOM], uint32_t subscriber) {
  snprintf(key, KEY_ROOM, "subscriber:%u", subscriber);
}

static void facility_key(char key[KEY_ROOM], uint32_t subscriber, uint32_t kind) {
  snprintf(key, KEY_ROOM, "facility:%u:%u", subscriber, kind);
}

static void get_subscriber_data(session_st *session) {
  char key[KEY_ROOM], lock[QUERY_ROOM], query[QUERY_ROOM], text[TEXT_ROOM];
  uint32_t subscriber = any_subscriber(session), number = 0, version = 0, called = 0;
  subscriber_key(key, subscriber);
  snprintf(lock, sizeof lock, "SELECT 1 FROM subscriber WHERE s_id = %u LOCK IN SHARE MODE",
           subscriber);
  snprintf(query, sizeof query, "SELECT * FROM subscriber WHERE s_id = %u", subscriber);
  size_t row = subscriber_row(subscriber);
  uint32_t oldest = versions_oldest(&session->versions[SUBSCRIBER_VERSIONS], row);
  session_begin(session);
  rows_look_up(session, key, text, lock, query);
  session_end(session);
  if (sscanf(text, "%u %u %u", &number, &version, &called) != 3 || number != subscriber ||
      called != subscriber)
    session->wrong++;
  else
    session_judge(session, SUBSCRIBER_VERSIONS, row, oldest, version);
}

static void get_access_data(session_st *session) {
  char key[KEY_ROOM], query[QUERY_ROOM], text[TEXT_ROOM];
  uint32_t subscriber = any_subscriber(session), kind = session_between(session, 1, KINDS);
  uint32_t number = 0, seen_kind = 0;
  snprintf(key, sizeof key, "access:%u:%u", subscriber, kind);
  snprintf(query, sizeof query, "SELECT * FROM access_info WHERE s_id = %u AND ai_type = %u",
           subscriber, kind);
  session_begin(session);
  rows_look_up(session, key, text, NULL, query);
  session_end(session);
  /* Nothing is an answer, too: not every subscriber has every kind. */
  if (*text && (sscanf(text, "%u %u", &number, &seen_kind) != 2 || number != subscriber ||
                seen_kind != kind))
    session->wrong++;
}

/* Counts the forwardings of an active facility that hold for the whole of this time; -1 where the
   text is not one of this facility. Each row has the facility's columns in front. */
static int destinations(const char *text, uint32_t subscriber, uint32_t kind, uint32_t from,
                        uint32_t to, uint32_t *version) {
  int found = 0;
  while (*text) {
    uint32_t number, seen_kind, seen_version, active, start, end;
    int fields = sscanf(text, "%u %u %u %u %u %u", &number, &seen_kind, &seen_version, &active,
                        &start, &end);
    /* A facility without a forwarding has four numbers. */
    if (fields < 4 || number != subscriber || seen_kind != kind ||
        (*version && *version != seen_version))
      return -1;
    *version = seen_version;
    found += fields == 6 && active && start <= from && to < end;
    text = strchr(text, '\n');
    if (!text)
      return -1;
    text++;
  }
  return found;
}

static void get_new_destination(session_st *session) {
  char key[KEY_ROOM], lock[QUERY_ROOM], query[QUERY_ROOM], text[TEXT_ROOM];
  uint32_t subscriber = any_subscriber(session), kind = session_between(session, 1, KINDS);
  uint32_t from = 8 * session_random(session, 3), to = session_between(session, 1, 24);
  facility_key(key, subscriber, kind);
  snprintf(lock, sizeof lock,
           "SELECT 1 FROM special_facility WHERE s_id = %u AND sf_type = %u LOCK IN SHARE MODE",
           subscriber, kind);
  snprintf(query, sizeof query,
           "SELECT f.s_id, f.sf_type, f.version, f.is_active, c.start_time, c.end_time, c.numberx "
           "FROM special_facility f LEFT JOIN call_forwarding c ON c.s_id = f.s_id AND c.sf_type "
           "= f.sf_type WHERE f.s_id = %u AND f.sf_type = %u",
           subscriber, kind);
  size_t row = facility_row(subscriber, kind);
  uint32_t oldest = versions_oldest(&session->versions[FACILITY_VERSIONS], row), version = 0;
  session_begin(session);
  rows_look_up(session, key, text, lock, query);
  int found = destinations(text, subscriber, kind, from, to, &version);
  session_end(session);
  if (found < 0)
    session->wrong++;
  else
    session_judge(session, FACILITY_VERSIONS, row, oldest, version);
}

/* Begins a transaction: a row's next version, with the row locked until the transaction ends; 0
   where there is no such row, -1 where another transaction was in the way. */
static int64_t lock_next_version(session_st *session, const char *table, const char *where) {
  MYSQL_RES *rows = database_ask(&session->database,
                                 "BEGIN; SELECT version FROM %s WHERE %s FOR UPDATE", table,
                                 where);
  if (!rows)
    return -1;
  uint32_t version = rows_number(rows);
  return version ? (int64_t) version + 1 : 0;
}

/* Sets a facility's version and does this besides, with the facility locked. What is to be known
   of it is known when the transaction has ended and the value is deleted. */
static void change_facility(session_st *session, uint32_t subscriber, uint32_t kind,
                            const char *also) {
  char key[KEY_ROOM], where[64];
  size_t row = facility_row(subscriber, kind);
  versions_st *versions = &session->versions[FACILITY_VERSIONS];
  facility_key(key, subscriber, kind);
  snprintf(where, sizeof where, "s_id = %u AND sf_type = %u", subscriber, kind);
  int64_t version;
  versions_begin(versions, row);
  for (;;) {
    version = lock_next_version(session, "special_facility", where);
    if (version == 0) {
      database_run(&session->database, "ROLLBACK");
      return;
    }
    if (version > 0 &&
        database_run(&session->database, "%s; UPDATE special_facility SET version = %u WHERE %s; "
                                         "COMMIT", also, (uint32_t) version, where))
      break;
    session->given_up++;
  }
  cache_delete(&session->cache, key);
  versions_end(versions, row, (uint32_t) version);
}

/* Sets a subscriber's version and these columns. */
static void change_subscriber(session_st *session, uint32_t subscriber, const char *columns) {
  char key[KEY_ROOM], where[32];
  size_t row = subscriber_row(subscriber);
  versions_st *versions = &session->versions[SUBSCRIBER_VERSIONS];
  subscriber_key(key, subscriber);
  snprintf(where, sizeof where, "s_id = %u", subscriber);
  int64_t version;
  versions_begin(versions, row);
  for (;;) {
    version = lock_next_version(session, "subscriber", where);
    if (version == 0)
      fail("there is no subscriber %u", subscriber);
    if (version > 0 && database_run(&session->database, "UPDATE subscriber SET version = %u, %s "
                                                        "WHERE %s; COMMIT",
                                    (uint32_t) version, columns, where))
      break;
    session->given_up++;
  }
  cache_delete(&session->cache, key);
  versions_end(versions, row, (uint32_t) version);
}

/* The description's one transaction over two tables is two here, as one value belongs to each. */
static void update_subscriber_data(session_st *session) {
  char text[256];
  uint32_t subscriber = any_subscriber(session), kind = session_between(session, 1, KINDS);
  snprintf(text, sizeof text, "bits = CONCAT('%u', SUBSTR(bits, 2))", session_random(session, 2));
  session_begin(session);
  change_subscriber(session, subscriber, text);
  snprintf(text, sizeof text,
           "UPDATE special_facility SET data_a = %u WHERE s_id = %u AND sf_type = %u",
           session_random(session, 256), subscriber, kind);
  change_facility(session, subscriber, kind, text);
  session_end(session);
}

/* The number that the network calls a subscriber by is all that is known. */
static uint32_t subscriber_called(session_st *session, uint32_t subscriber) {
  MYSQL_RES *rows = database_ask(&session->database,
                                 "SELECT s_id FROM subscriber WHERE sub_nbr = '%015u'", subscriber);
  if (!rows)
    fail("a subscriber cannot be found");
  return rows_number(rows);
}

static void update_location(session_st *session) {
  char columns[64];
  uint32_t called = any_subscriber(session);
  snprintf(columns, sizeof columns, "vlr_location = %u", session_random(session, UINT32_MAX));
  session_begin(session);
  change_subscriber(session, subscriber_called(session, called), columns);
  session_end(session);
}

static void insert_call_forwarding(session_st *session) {
  char text[256], number[16];
  uint32_t called = any_subscriber(session), kind = session_between(session, 1, KINDS);
  uint32_t start = 8 * session_random(session, 3);
  letters(session, number, 15, 10);
  session_begin(session);
  uint32_t subscriber = subscriber_called(session, called);
  /* One that is there already makes the description's transaction fail; here it stays. */
  snprintf(text, sizeof text, "INSERT IGNORE INTO call_forwarding VALUES (%u,%u,%u,%u,'%s')",
           subscriber, kind, start, start + session_between(session, 1, 8), number);
  change_facility(session, subscriber, kind, text);
  session_end(session);
}

static void delete_call_forwarding(session_st *session) {
  char text[256];
  uint32_t called = any_subscriber(session), kind = session_between(session, 1, KINDS);
  uint32_t start = 8 * session_random(session, 3);
  session_begin(session);
  uint32_t subscriber = subscriber_called(session, called);
  snprintf(text, sizeof text,
           "DELETE FROM call_forwarding WHERE s_id = %u AND sf_type = %u AND start_time = %u",
           subscriber, kind, start);
  change_facility(session, subscriber, kind, text);
  session_end(session);
}

/* Stores what a query finds, in the order of subscribers and, where a subscriber has several, of
   kinds; those that are not there are stored as such. */
static void preload_all(session_st *session, const char *prefix, unsigned kinds,
                        const char *query) {
  MYSQL_RES *rows = database_ask(&session->database, "%s", query);
  MYSQL_ROW row = mysql_fetch_row(rows);
  unsigned columns = mysql_num_fields(rows);
  char key[KEY_ROOM], text[TEXT_ROOM];
  for (uint32_t subscriber = 1; subscriber <= session->settings->rows; subscriber++) {
    for (uint32_t kind = 1; kind <= kinds; kind++) {
      size_t bytes = 0;
      text[0] = 0;
      for (; row && database_number(row, 0) == subscriber &&
             (kinds == 1 || database_number(row, 1) == kind);
           row = mysql_fetch_row(rows))
        bytes = rows_add(text, bytes, row, columns);
      if (kinds == 1)
        subscriber_key(key, subscriber);
      else
        snprintf(key, sizeof key, "%s:%u:%u", prefix, subscriber, kind);
      rows_store(session, key, text, bytes);
    }
  }
  mysql_free_result(rows);
}

static void preload(session_st *session) {
  preload_all(session, "subscriber", 1, "SELECT * FROM subscriber ORDER BY s_id");
  preload_all(session, "access", KINDS, "SELECT * FROM access_info ORDER BY s_id, ai_type");
  preload_all(session, "facility", KINDS,
              "SELECT f.s_id, f.sf_type, f.version, f.is_active, c.start_time, c.end_time, "
              "c.numberx FROM special_facility f LEFT JOIN call_forwarding c ON c.s_id = f.s_id "
              "AND c.sf_type = f.sf_type ORDER BY f.s_id, f.sf_type, c.start_time");
}

static unsigned step(session_st *session) {
  static void (*const transactions[])(session_st *) = {
      get_subscriber_data,    get_new_destination, get_access_data,       update_subscriber_data,
      update_location,        insert_call_forwarding, delete_call_forwarding};
  uint32_t chosen = session_random(session, 100);
  unsigned which = 0;
  for (; chosen >= shares[which]; which++)
    chosen -= shares[which];
  transactions[which](session);
  return which;
}

const workload_st tatp = {
    .name = "tatp",
    .operations = {"get_subscriber_data", "get_new_destination", "get_access_data",
                   "update_subscriber_data", "update_location", "insert_call_forwarding",
                   "delete_call_forwarding"},
    .version_kinds = 2,
    .version_rows = version_rows,
    .create = create,
    .read_versions = read_versions,
    .preload = preload,
    .step = step,
};
