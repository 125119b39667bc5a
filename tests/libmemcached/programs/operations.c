/* Every operation on servers, in both protocols, or in text only where TEXT_ONLY is set: operations HOST PORT [HOST PORT...]. What differs from server to server
   (versions, statistics' values, CAS tokens) is shown by what it is good for only. META_COMMANDS, for our library only, has text spoken by
   meta commands. */
#include <libmemcached/memcached.h>
#include <unistd.h>

#include "patience.h"
#include "show.h"

static memcached_st *memc;
static const char *protocol;
static bool is_binary;

#define LENGTH(text) (text), strlen(text)

static void get(const char *key) {
  size_t length = 77;
  uint32_t flags = 77;
  memcached_return_t rc;
  char *value = memcached_get(memc, LENGTH(key), &length, &flags, &rc);
  SHOW("%s get %s: %d %zu '%.*s'", protocol, key, rc, length, (int) (length < 60 ? length : 60), value ? value : "");
  SHOW(value ? " flags %u\n" : "\n", flags);
  free(value);
}

static void stores(void) {
  SHOW("set %d\n", memcached_set(memc, LENGTH("k"), LENGTH("value"), 0, 17));
  get("k");
  SHOW("add %d\n", memcached_add(memc, LENGTH("k"), LENGTH("other"), 0, 0));
  SHOW("add %d\n", memcached_add(memc, LENGTH("new"), LENGTH("added"), 0, 1));
  get("new");
  SHOW("replace %d\n", memcached_replace(memc, LENGTH("k"), LENGTH("replaced"), 0, 3));
  get("k");
  SHOW("replace %d\n", memcached_replace(memc, LENGTH("none"), LENGTH("replaced"), 0, 0));
  SHOW("append %d\n", memcached_append(memc, LENGTH("k"), LENGTH(">"), 0, 0));
  SHOW("prepend %d\n", memcached_prepend(memc, LENGTH("k"), LENGTH("<"), 0, 0));
  get("k");
  SHOW("append %d prepend %d\n", memcached_append(memc, LENGTH("none"), LENGTH("x"), 0, 0),
       memcached_prepend(memc, LENGTH("none"), LENGTH("x"), 0, 0));
  SHOW("by key %d %d %d\n", memcached_set_by_key(memc, LENGTH("g"), LENGTH("gk"), LENGTH("grouped"), 0, 5),
       memcached_add_by_key(memc, LENGTH("g"), LENGTH("gk"), LENGTH("x"), 0, 0),
       memcached_replace_by_key(memc, LENGTH("g"), LENGTH("gk"), LENGTH("regrouped"), 0, 6));
  SHOW("by key %d %d\n", memcached_append_by_key(memc, LENGTH("g"), LENGTH("gk"), LENGTH("+"), 0, 0),
       memcached_prepend_by_key(memc, LENGTH("g"), LENGTH("gk"), LENGTH("-"), 0, 0));
  size_t length;
  uint32_t flags;
  memcached_return_t rc;
  char *value = memcached_get_by_key(memc, LENGTH("g"), LENGTH("gk"), &length, &flags, &rc);
  SHOW("by key %d %zu '%s' %u\n", rc, length, value, flags);
  free(value);
  SHOW("empty %d\n", memcached_set(memc, LENGTH("empty"), "", 0, 0, 2));
  value = memcached_get(memc, LENGTH("empty"), &length, &flags, &rc);
  SHOW("empty %d %zu %u\n", rc, length, flags);
  free(value);
  SHOW("expired %d\n", memcached_set(memc, LENGTH("old"), LENGTH("x"), 1000000, 0));
  get("old");
  char long_key[251];
  memset(long_key, 'k', sizeof(long_key));
  SHOW("long key %d %d\n", memcached_set(memc, long_key, 250, LENGTH("x"), 0, 0),
       memcached_set(memc, long_key, 251, LENGTH("x"), 0, 0));
  SHOW("no key %d\n", memcached_set(memc, "", 0, LENGTH("x"), 0, 0));
}

static void large(void) {
  size_t sizes[] = {100, 8192, 8193, 20000, 500000, 1000000};
  for (unsigned at = 0; at < sizeof(sizes) / sizeof(*sizes); at++) {
    char *value = malloc(sizes[at]);
    for (size_t byte = 0; byte < sizes[at]; byte++) {
      value[byte] = (char) (byte * 7 + at);
    }
    SHOW("large %d\n", memcached_set(memc, LENGTH("large"), value, sizes[at], 0, at));
    size_t length;
    uint32_t flags;
    memcached_return_t rc;
    char *got = memcached_get(memc, LENGTH("large"), &length, &flags, &rc);
    SHOW("large %d %zu %u same %d\n", rc, length, flags, length == sizes[at] && memcmp(got, value, length) == 0);
    free(got);
    free(value);
  }
  char *huge = calloc(1, 3 << 20);
  SHOW("too large %d\n", memcached_set(memc, LENGTH("huge"), huge, 3 << 20, 0, 0));
  get("huge");
  free(huge);
}

static uint64_t cas_of(const char *key) {
  const char *keys[] = {key};
  size_t lengths[] = {strlen(key)};
  memcached_return_t rc;
  uint64_t cas = 0;
  SHOW("mget %d\n", memcached_mget(memc, keys, lengths, 1));
  memcached_result_st *result = memcached_fetch_result(memc, NULL, &rc);
  if (result) {
    cas = memcached_result_cas(result);
    // With a namespace libmemcached 1.1.4 ends the key in the wrong place there.
    bool has_key = !is_binary || memcached_callback_get(memc, MEMCACHED_CALLBACK_NAMESPACE, NULL) == NULL;
    SHOW("result %d '%.*s' of '%s' %u cas %d\n", rc, (int) memcached_result_length(result),
         memcached_result_value(result), has_key ? memcached_result_key_value(result) : "",
         memcached_result_flags(result), cas != 0);
    memcached_result_free(result);
  }
  SHOW("end %d", memcached_fetch_result(memc, NULL, &rc) == NULL);
  SHOW(" %d\n", rc);
  return cas;
}

static void tokens(void) {
  memcached_set(memc, LENGTH("c"), LENGTH("one"), 0, 4);
  cas_of("c");
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1);
  uint64_t cas = cas_of("c");
  SHOW("cas %d\n", memcached_cas(memc, LENGTH("c"), LENGTH("two"), 0, 5, cas));
  SHOW("cas %d\n", memcached_cas(memc, LENGTH("c"), LENGTH("three"), 0, 5, cas));
  get("c");
  cas = cas_of("c");
  SHOW("cas by key %d\n", memcached_cas_by_key(memc, LENGTH("c"), LENGTH("c"), LENGTH("four"), 0, 6, cas));
  SHOW("cas of none %d\n", memcached_cas(memc, LENGTH("none"), LENGTH("x"), 0, 0, cas));
  get("c");
}

static void numbers(void) {
  uint64_t number = 5;
  SHOW("set %d\n", memcached_set(memc, LENGTH("n"), LENGTH("10"), 0, 0));
  SHOW("increment %d", memcached_increment(memc, LENGTH("n"), 5, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("decrement %d", memcached_decrement(memc, LENGTH("n"), 1, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("decrement %d", memcached_decrement_by_key(memc, LENGTH("n"), LENGTH("n"), 100, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("increment %d", memcached_increment_by_key(memc, LENGTH("n"), LENGTH("n"), UINT64_MAX, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("increment %d", memcached_increment(memc, LENGTH("none"), 5, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("increment %d\n", memcached_increment(memc, LENGTH("n"), 5, NULL));
  SHOW("set %d\n", memcached_set(memc, LENGTH("t"), LENGTH("text"), 0, 0));
  SHOW("text %d", memcached_increment(memc, LENGTH("t"), 5, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("initial %d", memcached_increment_with_initial(memc, LENGTH("i"), 5, 20, 0, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("initial %d", memcached_decrement_with_initial(memc, LENGTH("i"), 5, 20, 0, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("initial %d",
       memcached_increment_with_initial_by_key(memc, LENGTH("i"), LENGTH("j"), 5, 7, MEMCACHED_EXPIRATION_NOT_ADD, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("initial %d", memcached_decrement_with_initial_by_key(memc, LENGTH("i"), LENGTH("j"), 5, 7, 0, &number));
  SHOW(" %llu\n", (unsigned long long) number);
}

static void removals(void) {
  memcached_set(memc, LENGTH("d"), LENGTH("x"), 0, 0);
  SHOW("exist %d %d\n", memcached_exist(memc, LENGTH("d")), memcached_exist(memc, LENGTH("none")));
  SHOW("exist by key %d %d\n", memcached_exist_by_key(memc, LENGTH("d"), LENGTH("d")),
       memcached_exist_by_key(memc, LENGTH("d"), LENGTH("none")));
  get("none");
  SHOW("touch %d %d\n", memcached_touch(memc, LENGTH("d"), 100), memcached_touch(memc, LENGTH("none"), 100));
  SHOW("touch by key %d\n", memcached_touch_by_key(memc, LENGTH("d"), LENGTH("d"), 1000000));
  get("d");
  memcached_set(memc, LENGTH("d"), LENGTH("x"), 0, 0);
  SHOW("delete %d %d\n", memcached_delete(memc, LENGTH("d"), 0), memcached_delete(memc, LENGTH("d"), 0));
  SHOW("delete later %d\n", memcached_delete(memc, LENGTH("d"), 5));
  memcached_set_by_key(memc, LENGTH("g"), LENGTH("d"), LENGTH("x"), 0, 0);
  SHOW("delete by key %d\n", memcached_delete_by_key(memc, LENGTH("g"), LENGTH("d"), 0));
}

static int by_text(const void *one, const void *other) {
  return strcmp(*(char *const *) one, *(char *const *) other);
}

/* Servers answer in any order: what is fetched is shown sorted. */
static void many(void) {
  enum { COUNT = 30 };
  static char names[COUNT][20];
  const char *keys[COUNT + 1];
  size_t lengths[COUNT + 1];
  char *lines[COUNT];
  unsigned found = 0;
  for (unsigned at = 0; at < COUNT; at++) {
    lengths[at] = (size_t) sprintf(names[at], "many-%u", at);
    keys[at] = names[at];
    memcached_set(memc, names[at], lengths[at], names[at] + 5, lengths[at] - 5, 0, at);
  }
  keys[COUNT] = "absent", lengths[COUNT] = 6;
  SHOW("mget %d\n", memcached_mget(memc, keys, lengths, COUNT + 1));
  char key[MEMCACHED_MAX_KEY];
  size_t key_length, length;
  uint32_t flags;
  memcached_return_t rc;
  char *value;
  while ((value = memcached_fetch(memc, key, &key_length, &length, &flags, &rc))) {
    lines[found] = malloc(100);
    sprintf(lines[found++], "%.*s = %.*s %u %d", (int) key_length, key, (int) length, value, flags, rc);
    free(value);
  }
  qsort(lines, found, sizeof(*lines), by_text);
  for (unsigned at = 0; at < found; at++) {
    SHOW("%s\n", lines[at]);
    free(lines[at]);
  }
  SHOW("end %d %zu\n", rc, length);
  memcached_result_st result;
  memcached_result_create(memc, &result);
  SHOW("mget by key %d\n", memcached_mget_by_key(memc, LENGTH("many-0"), keys, lengths, COUNT));
  for (found = 0; memcached_fetch_result(memc, &result, &rc); found++) {
  }
  SHOW("end %d some %d\n", rc, found > 0);
  SHOW("after %d", memcached_fetch_result(memc, &result, &rc) == NULL);
  SHOW(" %d\n", rc);
  memcached_result_free(&result);
  SHOW("nothing %d %d\n", memcached_mget(memc, keys, lengths, 0), memcached_mget(memc, NULL, NULL, 1));
  lengths[1] = 0;
  SHOW("bad key %d\n", memcached_mget(memc, keys, lengths, 2));
}

static memcached_return_t count_value(const memcached_st *of, memcached_result_st *result, void *context) {
  (void) of;
  *(size_t *) context += memcached_result_length(result);
  return MEMCACHED_SUCCESS;
}

static memcached_return_t refuse_value(const memcached_st *of, memcached_result_st *result, void *context) {
  (void) of, (void) result, (void) context;
  return MEMCACHED_FAILURE;
}

static void functions(void) {
  const char *keys[] = {"many-1", "many-2", "absent", "many-22"};
  size_t lengths[] = {6, 6, 6, 7}, total = 0;
  memcached_execute_fn count[] = {count_value}, refuse[] = {count_value, refuse_value};
  SHOW("mget %d\n", memcached_mget(memc, keys, lengths, 4));
  SHOW("execute %d %zu\n", memcached_fetch_execute(memc, count, &total, 1), total);
  SHOW("mget %d\n", memcached_mget(memc, keys, lengths, 4));
  SHOW("execute %d %zu\n", memcached_fetch_execute(memc, refuse, &total, 2), total);
  SHOW("execute %d\n", memcached_fetch_execute(memc, count, &total, 1));
  total = 0;
  SHOW("mget execute %d\n", memcached_mget_execute(memc, keys, lengths, 4, count, &total, 1));
  SHOW("execute %d", memcached_fetch_execute(memc, count, &total, 1));
  SHOW(" %zu\n", total);
  SHOW("by key %d\n", memcached_mget_execute_by_key(memc, LENGTH("g"), keys, lengths, 4, count, &total, 1));
  memcached_fetch_execute(memc, count, &total, 1);
}

static memcached_return_t make_value(const memcached_st *of, const char *key, size_t length, memcached_result_st *result) {
  (void) of;
  if (strncmp(key, "make", 4)) {
    return MEMCACHED_NOTFOUND;
  }
  memcached_result_set_value(result, key, length);
  memcached_result_set_flags(result, 42);
  return strncmp(key, "make-buffered", 13) ? MEMCACHED_SUCCESS : MEMCACHED_BUFFERED;
}

static memcached_return_t deleted(const memcached_st *of, const char *key, size_t length) {
  (void) of;
  SHOW("deleted %.*s\n", (int) length, key);
  return MEMCACHED_SUCCESS;
}

static void triggers(void) {
  memcached_callback_set(memc, MEMCACHED_CALLBACK_GET_FAILURE, (void *) make_value);
  get("make-1");
  get("make-buffered");
  /* libmemcached sends it and closes its connection at once; over the next one it may not be seen yet. */
  for (int tries = 0; tries < 5000 && memcached_failed(memcached_exist(memc, LENGTH("make-buffered"))); tries++) {
    usleep(1000);
  }
  get("unmade");
  memcached_callback_set(memc, MEMCACHED_CALLBACK_GET_FAILURE, NULL);
  get("make-1");
  get("make-buffered");
  if (is_binary) {
    return; // libmemcached 1.1.4 forgets the trigger there.
  }
  memcached_callback_set(memc, MEMCACHED_CALLBACK_DELETE_TRIGGER, (void *) deleted);
  SHOW("delete %d %d\n", memcached_delete(memc, LENGTH("make-1"), 0), memcached_delete(memc, LENGTH("none"), 0));
  memcached_callback_set(memc, MEMCACHED_CALLBACK_DELETE_TRIGGER, NULL);
}

static void unanswered(void) {
  SHOW("buffering %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1));
  SHOW("set %d\n", memcached_set(memc, LENGTH("b"), LENGTH("buffered"), 0, 1));
  SHOW("add %d\n", memcached_add(memc, LENGTH("b2"), LENGTH("added"), 0, 1));
  SHOW("flush %d\n", memcached_flush_buffers(memc));
  get("b");
  SHOW("set %d\n", memcached_set(memc, LENGTH("b"), LENGTH("again"), 0, 1));
  get("b");
  SHOW("delete %d\n", memcached_delete(memc, LENGTH("b"), 0));
  SHOW("flush %d\n", memcached_flush_buffers(memc));
  get("b");
  SHOW("not buffering %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 0));
  SHOW("noreply %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_NOREPLY, 1));
  uint64_t number = 3;
  SHOW("set %d\n", memcached_set(memc, LENGTH("q"), LENGTH("1"), 0, 1));
  SHOW("add %d\n", memcached_add(memc, LENGTH("q"), LENGTH("2"), 0, 1));
  SHOW("increment %d", memcached_increment(memc, LENGTH("q"), 1, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  get("q");
  SHOW("delete %d\n", memcached_delete(memc, LENGTH("q"), 0));
  get("q");
  SHOW("reply %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_NOREPLY, 0));
}

static void namespaces(void) {
  SHOW("namespace %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "space:"));
  SHOW("set %d\n", memcached_set(memc, LENGTH("k"), LENGTH("in space"), 0, 8));
  get("k");
  cas_of("k");
  SHOW("increment %d\n", memcached_increment(memc, LENGTH("none"), 1, NULL));
  SHOW("touch %d\n", memcached_touch(memc, LENGTH("k"), 100));
  memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, NULL);
  get("space:k");
  memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "space:");
  SHOW("delete %d\n", memcached_delete(memc, LENGTH("k"), 0));
  memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, NULL);
}

static void encryption(void) {
  static const char key[] = "a key of exactly thirty-two byte";
  memcached_st *plain = memc;
  memc = memcached_clone(NULL, plain);
  SHOW("encoding %d\n", memcached_set_encoding_key(memc, key, 32));
  SHOW("set %d\n", memcached_set(memc, LENGTH("secret"), LENGTH("nobody reads this"), 0, 3));
  if (!is_binary) {
    get("secret"); // libmemcached 1.1.4 does not decrypt there.
  }
  SHOW("append %d increment %d\n", memcached_append(memc, LENGTH("secret"), LENGTH("x"), 0, 0),
       memcached_increment(memc, LENGTH("n"), 1, NULL));
  memcached_free(memc);
  memc = plain;
  size_t length;
  memcached_return_t rc;
  char *value = memcached_get(memc, LENGTH("secret"), &length, NULL, &rc);
  show_bytes("hidden", value, length);
  free(value);
}

static memcached_return_t show_statistic(const memcached_instance_st *server, const char *key, size_t key_length,
                                         const char *value, size_t value_length, void *context) {
  (void) server;
  if (!strncmp(key, "curr_items", key_length) || !strncmp(key, "limit_maxbytes", key_length)) {
    SHOW("  %.*s %d\n", (int) key_length, key, value_length > 0);
  }
  ++*(unsigned *) context;
  return MEMCACHED_SUCCESS;
}

static memcached_return_t count_key(const memcached_st *of, const char *key, size_t length, void *context) {
  (void) of;
  *(unsigned *) context += length == strlen(key) && !strncmp(key, "many-", 5);
  return MEMCACHED_SUCCESS;
}

static void servers(const char *host, in_port_t port) {
  memcached_return_t rc;
  unsigned count = 0;
  SHOW("version %d %d\n", memcached_version(memc), memcached_version(memc));
  for (unsigned at = 0; at < memcached_server_count(memc); at++) {
    SHOW("known %d\n", memcached_server_major_version(memcached_server_instance_by_position(memc, at)) != 255);
  }
  memcached_stat_st *stats = memcached_stat(memc, NULL, &rc);
  SHOW("stat %d\n", rc);
  for (unsigned at = 0; at < memcached_server_count(memc); at++) {
    SHOW("pid %d items %d limit %lld version %d\n", stats[at].pid > 0, stats[at].curr_items > 0,
         stats[at].limit_maxbytes, strlen(stats[at].version) > 2);
  }
  char **keys = memcached_stat_get_keys(memc, stats, &rc);
  for (unsigned at = 0; keys[at]; at++) {
    char *value = memcached_stat_get_value(memc, stats, keys[at], &rc);
    SHOW("%s %d %d\n", keys[at], rc, value != NULL);
    free(value);
  }
  SHOW("unknown %d", memcached_stat_get_value(memc, stats, "unknown", &rc) == NULL);
  SHOW(" %d\n", rc);
  memcached_analysis_st *analysis = memcached_analyze(memc, stats, &rc);
  SHOW("analysis %d %d %d\n", rc, analysis->average_item_size > 0, analysis->pool_hit_ratio > 0);
  memcached_analyze_free(analysis);
  free(keys);
  memcached_stat_free(memc, stats);
  stats = memcached_stat(memc, (char *) "settings", &rc);
  SHOW("settings %d\n", rc);
  memcached_stat_free(memc, stats);
  SHOW("execute %d", memcached_stat_execute(memc, NULL, show_statistic, &count));
  SHOW(" many %d\n", count > 20);
  memcached_stat_st one;
  SHOW("servername %d", memcached_stat_servername(&one, NULL, host, port));
  SHOW(" %d\n", one.pid > 0);
  memcached_dump_fn dump[] = {count_key};
  count = 0;
  SHOW("dump %d", memcached_dump(memc, dump, &count, 1));
  SHOW(" %d\n", count > 0); // The system's asks in a way that shows only some.
  SHOW("verbosity %d\n", memcached_verbosity(memc, 0));
  SHOW("flush %d\n", memcached_flush(memc, 0));
  get("k");
  memcached_quit(memc);
  SHOW("after quit %d\n", memcached_set(memc, LENGTH("k"), LENGTH("quit"), 0, 0));
  get("k");
}

/* By its number: the system's header does not have it. */
static void speak_meta(void) {
  memcached_behavior_t meta = (memcached_behavior_t) 38;
  if (getenv("META_COMMANDS")
      && (memcached_behavior_set(memc, meta, 1) != MEMCACHED_SUCCESS || memcached_behavior_get(memc, meta) != 1))
    SHOW("no meta commands\n");
}

int main(int count, char **arguments) {
  for (int binary = 0; binary < (getenv("TEXT_ONLY") ? 1 : 2); binary++) {
    memc = memcached_create(NULL);
    be_patient(memc);
    is_binary = binary;
    protocol = binary ? "binary" : "text";
    for (int at = 1; at + 1 < count; at += 2) {
      SHOW("add %d\n", memcached_server_add(memc, arguments[at], (in_port_t) atoi(arguments[at + 1])));
    }
    SHOW("binary %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, (uint64_t) binary));
    if (!binary)
      speak_meta();
    SHOW("flush %d\n", memcached_flush(memc, 0));
    stores();
    large();
    tokens();
    numbers();
    removals();
    many();
    functions();
    triggers();
    unanswered();
    namespaces();
    encryption();
    servers(arguments[1], (in_port_t) atoi(arguments[2]));
    memcached_free(memc);
  }
  return 0;
}
