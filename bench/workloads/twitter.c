/* Twitter, after OLTP-Bench's benchmark of that name: five tables, five transactions, and the
   shares of its sample configuration (config/sample_twitter_config.xml).

   Names are looked up together, by multi-get; a timeline, a user's ten newest tweets, is one value.
   In OLTP-Bench a new tweet goes to a table that no other transaction reads; here timelines read
   both, or nothing that is cached would ever change. A user's version is one more than the tweets
   that the user has added, and each of these tells its version. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GET_TWEET, GET_TWEETS_FROM_FOLLOWING, GET_FOLLOWERS, GET_USER_TWEETS, INSERT_TWEET };

/* Parts of a million of each, in this order. */
static const uint32_t shares[] = {700, 700, 76725, 912656, 9219};
enum { SHARES_OF = 1000000 };

/* OLTP-Bench's loader: 500 users have 20,000 tweets, and follow 100 others at most. */
enum { TWEETS_PER_USER = 40, FOLLOWS_MAX = 100, TWEET_BYTES = 140 };
/* Its limits on what a transaction reads. */
enum { PEOPLE_MAX = 20, TIMELINE_MAX = 10 };

static size_t version_rows(const settings_st *settings, size_t kind) {
  (void) kind;
  return settings->rows;
}

static uint32_t any_user(session_st *session) {
  return (uint32_t) keys_next(&session->keys);
}

static void create_tables(database_st *database) {
  database_run(database,
               "CREATE TABLE user_profiles (uid INT UNSIGNED PRIMARY KEY, version INT UNSIGNED NOT "
               "NULL, name VARCHAR(255) NOT NULL, email VARCHAR(255), partitionid INT, "
               "partitionid2 INT, followers INT)");
  for (int which = 0; which < 2; which++)
    database_run(database,
                 "CREATE TABLE %s (f1 INT UNSIGNED, f2 INT UNSIGNED, PRIMARY KEY (f1, f2))",
                 which ? "followers" : "follows");
  for (int which = 0; which < 2; which++)
    database_run(database,
                 "CREATE TABLE %s (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, uid INT UNSIGNED "
                 "NOT NULL, version INT UNSIGNED NOT NULL, text CHAR(%d) NOT NULL, createdate "
                 "DATETIME, KEY (uid))",
                 which ? "added_tweets" : "tweets", TWEET_BYTES);
}

/* A text without spaces, as values are read back by words. */
static const char *some_text(session_st *session, char text[TWEET_BYTES + 1]) {
  uint32_t bytes = session_between(session, 20, TWEET_BYTES);
  for (uint32_t at = 0; at < bytes; at++)
    text[at] = (char) ('a' + session_random(session, 26));
  text[bytes] = 0;
  return text;
}

static void create_users(session_st *session) {
  statement_st insert = {0};
  for (uint32_t user = 0; user < session->settings->rows; user++) {
    statement_begin_row(&insert, &session->database, "INSERT INTO user_profiles VALUES ");
    statement_add(&insert, "(%u,1,'user-%u','user-%u@example.org',0,0,0)", user, user, user);
  }
  statement_finish(&insert, &session->database);
}

static void create_follows(session_st *session, keys_st *users) {
  statement_st follows = {0}, followers = {0};
  keys_st counts = keys_create(FOLLOWS_MAX, true);
  for (uint32_t user = 0; user < session->settings->rows; user++) {
    for (size_t count = keys_next(&counts) + 1; count > 0; count--) {
      uint32_t other = (uint32_t) keys_next(users);
      statement_begin_row(&follows, &session->database, "INSERT IGNORE INTO follows VALUES ");
      statement_add(&follows, "(%u,%u)", user, other);
      statement_begin_row(&followers, &session->database, "INSERT IGNORE INTO followers VALUES ");
      statement_add(&followers, "(%u,%u)", other, user);
    }
  }
  statement_finish(&follows, &session->database);
  statement_finish(&followers, &session->database);
  keys_free(&counts);
}

static void create_tweets(session_st *session, keys_st *users) {
  statement_st insert = {0};
  char text[TWEET_BYTES + 1];
  for (size_t tweet = 1; tweet <= session->settings->rows * TWEETS_PER_USER; tweet++) {
    statement_begin_row(&insert, &session->database, "INSERT INTO tweets VALUES ");
    statement_add(&insert, "(%zu,%zu,1,'%s','2026-01-01')", tweet, keys_next(users),
                  some_text(session, text));
  }
  statement_finish(&insert, &session->database);
}

static void create(session_st *session) {
  keys_st users = keys_create(session->settings->rows, true);
  create_tables(&session->database);
  create_users(session);
  create_follows(session, &users);
  create_tweets(session, &users);
  keys_free(&users);
}

static void read_versions(session_st *session) {
  MYSQL_RES *rows = database_ask(&session->database, "SELECT uid, version FROM user_profiles");
  for (MYSQL_ROW row; (row = mysql_fetch_row(rows));)
    versions_start(&session->versions[0], database_number(row, 0), database_number(row, 1));
  mysql_free_result(rows);
}

static void get_tweet(session_st *session) {
  char key[KEY_ROOM], query[QUERY_ROOM], text[TEXT_ROOM];
  uint32_t tweets = (uint32_t) session->settings->rows * TWEETS_PER_USER;
  uint32_t tweet = session_between(session, 1, tweets), number = 0;
  snprintf(key, sizeof key, "tweet:%u", tweet);
  snprintf(query, sizeof query, "SELECT id, uid, version, text FROM tweets WHERE id = %u", tweet);
  session_begin(session);
  rows_look_up(session, key, text, NULL, query);
  session_end(session);
  if (sscanf(text, "%u", &number) != 1 || number != tweet)
    session->wrong++;
}

/* A timeline: its key, and how it comes from the database. */
typedef struct {
  char key[KEY_ROOM], lock[QUERY_ROOM], query[QUERY_ROOM], text[TEXT_ROOM];
  uint32_t user, oldest;
} timeline_st;

static void timeline_of(session_st *session, timeline_st *of, uint32_t user) {
  of->user = user;
  of->oldest = versions_oldest(&session->versions[0], user);
  snprintf(of->key, sizeof of->key, "timeline:%u", user);
  snprintf(of->lock, sizeof of->lock,
           "SELECT 1 FROM user_profiles WHERE uid = %u LOCK IN SHARE MODE", user);
  snprintf(of->query, sizeof of->query,
           "(SELECT uid, id, version, 2 AS part, text FROM added_tweets WHERE uid = %u ORDER BY id "
           "DESC LIMIT %d) UNION ALL (SELECT uid, id, version, 1 AS part, text FROM tweets WHERE "
           "uid = %u ORDER BY id DESC LIMIT %d) ORDER BY part DESC, id DESC LIMIT %d",
           user, TIMELINE_MAX, user, TIMELINE_MAX, TIMELINE_MAX);
}

/* The newest tweet tells the version, the others must follow it one by one, and all must be the
   user's. */
static void check_timeline(session_st *session, const timeline_st *of) {
  uint32_t newest = 1, expected = 0;
  for (const char *line = of->text; *line; line++) {
    uint32_t user, tweet, version;
    if (sscanf(line, "%u %u %u", &user, &tweet, &version) != 3 || user != of->user ||
        (expected && version != expected) || !(line = strchr(line, '\n'))) {
      session->wrong++;
      return;
    }
    newest = version > newest ? version : newest;
    expected = version > 1 ? version - 1 : 1;
  }
  session_judge(session, 0, of->user, of->oldest, newest);
}

static void get_user_tweets(session_st *session) {
  timeline_st timeline;
  timeline_of(session, &timeline, any_user(session));
  session_begin(session);
  rows_look_up(session, timeline.key, timeline.text, timeline.lock, timeline.query);
  session_end(session);
  check_timeline(session, &timeline);
}

/* The users that a user follows, or is followed by; how many. */
static size_t people_of(session_st *session, const char *table, uint32_t user,
                        uint32_t people[PEOPLE_MAX]) {
  char key[KEY_ROOM], query[QUERY_ROOM], text[TEXT_ROOM];
  snprintf(key, sizeof key, "%s:%u", table, user);
  snprintf(query, sizeof query, "SELECT f1, f2 FROM %s WHERE f1 = %u LIMIT %d", table, user,
           PEOPLE_MAX);
  rows_look_up(session, key, text, NULL, query);
  size_t count = 0;
  for (const char *line = text; *line && count < PEOPLE_MAX; line++) {
    uint32_t whose;
    if (sscanf(line, "%u %u", &whose, &people[count++]) != 2 || whose != user ||
        !(line = strchr(line, '\n'))) {
      session->wrong++;
      return 0;
    }
  }
  return count;
}

/* Asks the database for the names that are not in the cache, all by one query. */
static void fill_names(session_st *session, size_t count, const uint32_t *people,
                       char (*keys)[KEY_ROOM], char (*names)[TEXT_ROOM], const bool *found) {
  char query[QUERY_ROOM];
  size_t bytes = (size_t) snprintf(query, sizeof query,
                                   "SELECT uid, name FROM user_profiles WHERE uid IN (");
  const char *comma = "";
  for (size_t at = 0; at < count; at++) {
    if (!found[at]) {
      bytes += (size_t) snprintf(query + bytes, sizeof query - bytes, "%s%u", comma, people[at]);
      comma = ",";
    }
  }
  session->queries++;
  MYSQL_RES *rows = database_ask(&session->database, "%s)", query);
  for (MYSQL_ROW row; rows && (row = mysql_fetch_row(rows));) {
    for (size_t at = 0; at < count; at++) {
      if (people[at] == database_number(row, 0) && !found[at])
        rows_store(session, keys[at], names[at], rows_add(names[at], 0, row, 2));
    }
  }
  if (rows)
    mysql_free_result(rows);
}

/* Looks names up together. */
static void look_up_names(session_st *session, size_t count, const uint32_t *people,
                          char (*names)[TEXT_ROOM]) {
  char keys[PEOPLE_MAX][KEY_ROOM];
  const char *all[PEOPLE_MAX] = {0};
  value_st values[PEOPLE_MAX];
  bool found[PEOPLE_MAX], any_is_missing = false;
  for (size_t at = 0; at < count; at++) {
    snprintf(keys[at], KEY_ROOM, "name:%u", people[at]);
    all[at] = keys[at];
    names[at][0] = 0;
  }
  cache_get_many(&session->cache, count, all, values);
  for (size_t at = 0; at < count; at++) {
    found[at] = values[at].data && rows_take(session, values[at], names[at]);
    any_is_missing |= !found[at];
  }
  if (any_is_missing)
    fill_names(session, count, people, keys, names, found);
}

static void get_followers(session_st *session) {
  uint32_t user = any_user(session), people[PEOPLE_MAX];
  char names[PEOPLE_MAX][TEXT_ROOM];
  session_begin(session);
  size_t count = people_of(session, "followers", user, people);
  look_up_names(session, count, people, names);
  session_end(session);
  for (size_t at = 0; at < count; at++) {
    uint32_t number = 0, named = 0;
    if (sscanf(names[at], "%u user-%u", &number, &named) != 2 || number != people[at] ||
        named != people[at])
      session->wrong++;
  }
}

static void get_tweets_from_following(session_st *session) {
  uint32_t people[PEOPLE_MAX];
  value_st values[PEOPLE_MAX];
  const char *keys[PEOPLE_MAX] = {0};
  timeline_st *timelines = malloc(PEOPLE_MAX * sizeof *timelines);
  session_begin(session);
  size_t count = people_of(session, "follows", any_user(session), people);
  for (size_t at = 0; at < count; at++) {
    timeline_of(session, &timelines[at], people[at]);
    keys[at] = timelines[at].key;
  }
  cache_get_many(&session->cache, count, keys, values);
  for (size_t at = 0; at < count; at++) {
    timeline_st *one = &timelines[at];
    if (!values[at].data || !rows_take(session, values[at], one->text))
      rows_fill(session, one->key, one->text, one->lock, one->query);
  }
  session_end(session);
  for (size_t at = 0; at < count; at++)
    check_timeline(session, &timelines[at]);
  free(timelines);
}

/* Adds a tweet with the user's next version; 0 where another transaction was in the way. */
static uint32_t try_insert(session_st *session, uint32_t user, const char *text) {
  MYSQL_RES *rows = database_ask(
      &session->database, "BEGIN; SELECT version FROM user_profiles WHERE uid = %u FOR UPDATE",
      user);
  if (!rows)
    return 0;
  uint32_t version = rows_number(rows) + 1;
  bool done = database_run(&session->database,
                           "UPDATE user_profiles SET version = %u WHERE uid = %u; INSERT INTO "
                           "added_tweets VALUES (NULL, %u, %u, '%s', NOW()); COMMIT",
                           version, user, user, version, text);
  return done ? version : 0;
}

static void insert_tweet(session_st *session) {
  char key[KEY_ROOM], text[TWEET_BYTES + 1];
  uint32_t user = any_user(session), version;
  some_text(session, text);
  snprintf(key, sizeof key, "timeline:%u", user);
  versions_begin(&session->versions[0], user);
  session_begin(session);
  while (!(version = try_insert(session, user, text)))
    session->given_up++;
  cache_delete(&session->cache, key);
  session_end(session);
  versions_end(&session->versions[0], user, version);
}

static void preload(session_st *session) {
  uint32_t people[PEOPLE_MAX];
  char names[PEOPLE_MAX][TEXT_ROOM];
  for (uint32_t user = 0; user < session->settings->rows; user++) {
    timeline_st timeline;
    timeline_of(session, &timeline, user);
    rows_fill(session, timeline.key, timeline.text, timeline.lock, timeline.query);
    people_of(session, "follows", user, people);
    look_up_names(session, people_of(session, "followers", user, people), people, names);
  }
}

static unsigned step(session_st *session) {
  static void (*const transactions[])(session_st *) = {
      get_tweet, get_tweets_from_following, get_followers, get_user_tweets, insert_tweet};
  uint32_t chosen = session_random(session, SHARES_OF);
  unsigned which = 0;
  for (; which < INSERT_TWEET && chosen >= shares[which]; which++)
    chosen -= shares[which];
  transactions[which](session);
  return which;
}

const workload_st twitter = {
    .name = "twitter",
    .operations = {"get_tweet", "get_tweets_from_following", "get_followers", "get_user_tweets",
                   "insert_tweet"},
    .version_kinds = 1,
    .version_rows = version_rows,
    .create = create,
    .read_versions = read_versions,
    .preload = preload,
    .step = step,
};
