/* Every function at its edges, on handles of every kind: edges HOST PORT HOST PORT DEAD SILENT CLOSING [NAME].

   Each pair of a kind of handle and an act is a case with a name, "kind/act", and runs in a process of its own, so that a crash
   ends that case only. DEAD is a port that nobody listens on, SILENT one that takes connections and never answers, CLOSING one
   that takes connections and closes them. With NAME only the cases run whose name begins with it. With "random" and two numbers
   instead, so many sequences of acts chosen by chance, from this seed on, each on one handle: only crashes are told. */
#include <libmemcached/memcached.h>
#include <libmemcached/util.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"
#include "show.h"

#define LENGTH(text) (text), strlen(text)
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

enum { SHORT_MS = 60, LONGEST_S = 40 };

static const char *hosts[2];
static in_port_t ports[2], dead_port, silent_port, closing_port;
static memcached_st *memc;
/* Keys of the case: one that is there, a number that is there, one that is not. */
static char there[64], number[64], absent[64];

static memcached_st *plain(void) {
  memcached_st *made = memcached_create(NULL);
  be_patient(made);
  for (int at = 0; at < 2; at++)
    memcached_server_add(made, hosts[at], ports[at]);
  return made;
}

static void prepare_keys(unsigned serial) {
  snprintf(there, sizeof(there), "there-%u", serial);
  snprintf(number, sizeof(number), "number-%u", serial);
  snprintf(absent, sizeof(absent), "absent-%u", serial);
  char in_space[2][80];
  snprintf(in_space[0], sizeof(in_space[0]), "space:%s", absent);
  snprintf(in_space[1], sizeof(in_space[1]), "space:%s", there);
  for (int at = 0; at < 2; at++) {
    /* What an earlier run left, wherever that was. */
    memcached_st *one = memcached_create(NULL);
    be_patient(one);
    memcached_server_add(one, hosts[at], ports[at]);
    memcached_delete(one, LENGTH(there), 0);
    memcached_delete(one, LENGTH(number), 0);
    memcached_delete(one, LENGTH(absent), 0);
    memcached_delete(one, LENGTH(in_space[0]), 0);
    memcached_delete(one, LENGTH(in_space[1]), 0);
    memcached_free(one);
  }
  memcached_st *made = plain();
  /* Of one length: where both are asked for, it is chance whose server answers first. */
  memcached_set(made, LENGTH(there), LENGTH("value"), 0, 7);
  memcached_set(made, LENGTH(number), LENGTH("10000"), 0, 8);
  memcached_free(made);
}

/* Kinds of handles. */

static void set(memcached_behavior_t behavior, uint64_t value) {
  memcached_behavior_set(memc, behavior, value);
}

static void null_handle(void) {
  memc = NULL;
}

static void no_servers(void) {
  memc = memcached_create(NULL);
}

static void text(void) {
  memc = plain();
}

static void binary(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
}

static void udp(void) {
  memc = memcached_create(NULL);
  set(MEMCACHED_BEHAVIOR_USE_UDP, 1);
  memcached_server_add(memc, hosts[0], ports[0]);
}

static void udp_binary(void) {
  udp();
  set(MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
}

static void udp_later(void) {
  memc = plain();
  free(memcached_get(memc, LENGTH(there), NULL, NULL, NULL));
  set(MEMCACHED_BEHAVIOR_USE_UDP, 1);
}

static void only(in_port_t port) {
  memc = memcached_create(NULL);
  set(MEMCACHED_BEHAVIOR_POLL_TIMEOUT, SHORT_MS);
  set(MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 1000);
  memcached_server_add(memc, "127.0.0.1", port);
}

static void dead(void) {
  only(dead_port);
}

static void dead_binary(void) {
  only(dead_port);
  set(MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
}

static void one_dead(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, 1000);
  memcached_server_add(memc, "127.0.0.1", dead_port);
}

/* Whose keys go to the others, after so many failures. */
static void removing_after(uint64_t failures, uint64_t retry_s, uint64_t dead_s, uint64_t distribution) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_DISTRIBUTION, distribution);
  set(MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS, 1);
  set(MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT, failures);
  set(MEMCACHED_BEHAVIOR_RETRY_TIMEOUT, retry_s);
  set(MEMCACHED_BEHAVIOR_DEAD_TIMEOUT, dead_s);
  memcached_server_add(memc, "127.0.0.1", dead_port);
}

static void removing(void) {
  removing_after(1, 1000, 0, MEMCACHED_DISTRIBUTION_CONSISTENT);
}

static void removing_later(void) {
  removing_after(3, (uint64_t) -5, 1000, MEMCACHED_DISTRIBUTION_CONSISTENT);
}

static void removing_from_none(void) {
  removing_after(1, 1000, 0, MEMCACHED_DISTRIBUTION_MODULA);
}

static void removing_often(void) {
  removing_after(2, (uint64_t) -5, (uint64_t) 0, MEMCACHED_DISTRIBUTION_MODULA);
}

static void not_removing(void) {
  removing_after(2, (uint64_t) -5, 0, MEMCACHED_DISTRIBUTION_MODULA);
  set(MEMCACHED_BEHAVIOR_REMOVE_FAILED_SERVERS, 0);
}

static void no_socket(void) {
  memc = memcached_create(NULL);
  memcached_server_add_unix_socket(memc, "/does/not/exist");
}

static void silent(void) {
  only(silent_port);
}

static void silent_binary(void) {
  only(silent_port);
  set(MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
}

static void closing(void) {
  only(closing_port);
  /* It closes soon, but on a busy machine not within the short time. */
  be_patient(memc);
}

static void noreply(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_NOREPLY, 1);
}

static void noreply_binary(void) {
  binary();
  set(MEMCACHED_BEHAVIOR_NOREPLY, 1);
}

static void buffering(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
}

static void not_blocking(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_NO_BLOCK, 1);
}

static void encrypted(void) {
  memc = plain();
  memcached_set_encoding_key(memc, "a key of exactly thirty-two byte", 32);
}

static void verifying(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_VERIFY_KEY, 1);
}

static void with_cas(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_SUPPORT_CAS, 1);
}

static void with_namespace(void) {
  memc = plain();
  memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "space:");
}

static void consistent(void) {
  memc = plain();
  set(MEMCACHED_BEHAVIOR_DISTRIBUTION, MEMCACHED_DISTRIBUTION_CONSISTENT);
}

static void replicated(void) {
  binary();
  set(MEMCACHED_BEHAVIOR_NUMBER_OF_REPLICAS, 1);
}

static void copied(void) {
  memcached_st *from = plain();
  free(memcached_get(from, LENGTH(there), NULL, NULL, NULL));
  memc = memcached_clone(NULL, from);
  memcached_free(from);
}

static void quitted(void) {
  memc = plain();
  free(memcached_get(memc, LENGTH(there), NULL, NULL, NULL));
  memcached_quit(memc);
}

static void emptied(void) {
  memc = plain();
  free(memcached_get(memc, LENGTH(there), NULL, NULL, NULL));
  memcached_servers_reset(memc);
}

static void set_back(void) {
  memc = plain();
  free(memcached_get(memc, LENGTH(there), NULL, NULL, NULL));
  memcached_reset(memc);
}

static memcached_return_t ask_many(void) {
  const char *keys[] = {there, number, absent};
  size_t lengths[] = {strlen(there), strlen(number), strlen(absent)};
  return memcached_mget(memc, keys, lengths, 3);
}

static void asked(void) {
  memc = plain();
  ask_many();
}

static void asked_binary(void) {
  binary();
  ask_many();
}

static void half_fetched(void) {
  asked();
  memcached_return_t rc;
  memcached_result_free(memcached_fetch_result(memc, NULL, &rc));
}

static memcached_return_t make_nothing(const memcached_st *of, const char *key, size_t length, memcached_result_st *result) {
  (void) of, (void) key, (void) length, (void) result;
  return MEMCACHED_FAILURE;
}

static void not_making(void) {
  memc = plain();
  memcached_callback_set(memc, MEMCACHED_CALLBACK_GET_FAILURE, (void *) make_nothing);
}

static struct {
  const char *name;
  void (*make)(void);
} const kinds[] = {
    {"null", null_handle}, {"no-servers", no_servers}, {"text", text}, {"binary", binary}, {"udp", udp},
    {"udp-binary", udp_binary}, {"udp-later", udp_later}, {"dead", dead}, {"dead-binary", dead_binary},
    {"one-dead", one_dead}, {"removing", removing}, {"removing-later", removing_later},
    {"removing-from-none", removing_from_none}, {"removing-often", removing_often}, {"not-removing", not_removing},
    {"no-socket", no_socket}, {"silent", silent}, {"silent-binary", silent_binary}, {"closing", closing},
    {"noreply", noreply}, {"noreply-binary", noreply_binary}, {"buffering", buffering}, {"not-blocking", not_blocking},
    {"encrypted", encrypted}, {"verifying", verifying}, {"with-cas", with_cas}, {"with-namespace", with_namespace},
    {"consistent", consistent}, {"replicated", replicated}, {"copied", copied}, {"quitted", quitted},
    {"emptied", emptied}, {"set-back", set_back}, {"asked", asked}, {"asked-binary", asked_binary},
    {"half-fetched", half_fetched}, {"not-making", not_making},
};

/* What is done with them. */

static char long_key[300];

static void show_value(const char *title, char *value, size_t length, uint32_t flags, memcached_return_t rc) {
  SHOW("%s %d %zu %u '%.*s'\n", title, rc, length, flags, value ? (int) (length < 40 ? length : 40) : 0, value ? value : "");
  free(value);
}

static void get_key(const char *title, const char *key, size_t key_length) {
  size_t length = 99;
  uint32_t flags = 99;
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  char *value = memcached_get(memc, key, key_length, &length, &flags, &rc);
  show_value(title, value, length, value ? flags : 0, rc);
}

static void fetch_all(const char *title) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  unsigned found = 0, bytes = 0;
  memcached_result_st result;
  memcached_result_create(memc, &result);
  while (memcached_fetch_result(memc, &result, &rc) && found < 10) {
    found++;
    bytes += memcached_result_length(&result);
  }
  SHOW("%s %d: %u values of %u bytes\n", title, rc, found, bytes);
  memcached_result_free(&result);
}

static void act_set(void) {
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_set_twice(void) {
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("new"), 0, 3));
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("newer"), 0, 4));
}

static void act_set_no_key(void) {
  SHOW("%d %d\n", memcached_set(memc, NULL, 0, LENGTH("new"), 0, 3), memcached_set(memc, "", 0, LENGTH("new"), 0, 3));
}

static void act_set_long_key(void) {
  SHOW("%d %d\n", memcached_set(memc, long_key, 250, LENGTH("new"), 0, 3),
       memcached_set(memc, long_key, 251, LENGTH("new"), 0, 3));
}

static void act_set_odd_key(void) {
  SHOW("%d\n", memcached_set(memc, LENGTH("\x80\xff\x7f"), LENGTH("new"), 0, 3));
}

static void act_set_nothing(void) {
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), NULL, 0, 0, 3));
}

static void act_set_huge(void) {
  char *huge = calloc(1, 2 << 20);
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), huge, 2 << 20, 0, 3));
  free(huge);
}

static void act_set_expired(void) {
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("old"), 2700000, 3));
}

static void act_add(void) {
  SHOW("%d %d\n", memcached_add(memc, LENGTH(there), LENGTH("new"), 0, 3), memcached_add(memc, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_replace(void) {
  SHOW("%d %d\n", memcached_replace(memc, LENGTH(there), LENGTH("new"), 0, 3),
       memcached_replace(memc, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_append(void) {
  SHOW("%d %d\n", memcached_append(memc, LENGTH(there), LENGTH("new"), 0, 3),
       memcached_append(memc, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_append_nothing(void) {
  SHOW("%d\n", memcached_append(memc, LENGTH(there), NULL, 0, 0, 3));
}

static void act_prepend(void) {
  SHOW("%d %d\n", memcached_prepend(memc, LENGTH(there), LENGTH("new"), 0, 3),
       memcached_prepend(memc, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_cas_wrong(void) {
  SHOW("%d\n", memcached_cas(memc, LENGTH(there), LENGTH("new"), 0, 3, 1));
}

static void act_cas_none(void) {
  SHOW("%d\n", memcached_cas(memc, LENGTH(absent), LENGTH("new"), 0, 3, 999999));
}

static void act_by_key(void) {
  SHOW("%d\n", memcached_set_by_key(memc, LENGTH("group"), LENGTH(absent), LENGTH("new"), 0, 3));
  size_t length = 99;
  uint32_t flags = 99;
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  char *value = memcached_get_by_key(memc, LENGTH("group"), LENGTH(absent), &length, &flags, &rc);
  show_value("get", value, length, value ? flags : 0, rc);
  SHOW("%d\n", memcached_delete_by_key(memc, LENGTH("group"), LENGTH(absent), 0));
}

static void act_by_no_key(void) {
  SHOW("%d %d\n", memcached_set_by_key(memc, NULL, 0, LENGTH(absent), LENGTH("new"), 0, 3),
       memcached_set_by_key(memc, LENGTH("group"), NULL, 0, LENGTH("new"), 0, 3));
  size_t length = 99;
  uint32_t flags = 99;
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  char *value = memcached_get_by_key(memc, NULL, 0, LENGTH(there), &length, &flags, &rc);
  show_value("get", value, length, value ? flags : 0, rc);
  SHOW("%d %d\n", memcached_touch_by_key(memc, LENGTH("group"), "", 0, 0), memcached_exist_by_key(memc, LENGTH("group"), "", 0));
}

static void act_by_long_key(void) {
  SHOW("%d\n", memcached_set_by_key(memc, long_key, 299, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_get(void) {
  get_key("get", LENGTH(there));
  get_key("again", LENGTH(there));
}

static void act_get_absent(void) {
  get_key("get", LENGTH(absent));
}

static void act_get_no_key(void) {
  get_key("null", NULL, 0);
  get_key("empty", "", 0);
}

static void act_get_long_key(void) {
  get_key("250", long_key, 250);
  get_key("251", long_key, 251);
}

static void act_get_untold(void) {
  char *value = memcached_get(memc, LENGTH(there), NULL, NULL, NULL);
  SHOW("%s\n", value ? value : "nothing");
  free(value);
  SHOW("%d\n", memcached_get(memc, LENGTH(absent), NULL, NULL, NULL) == NULL);
}

static void act_mget(void) {
  SHOW("%d\n", ask_many());
  fetch_all("fetched");
  fetch_all("again");
}

static void act_mget_one(void) {
  const char *keys[] = {there};
  size_t lengths[] = {strlen(there)};
  SHOW("%d\n", memcached_mget(memc, keys, lengths, 1));
  fetch_all("fetched");
}

static void act_mget_absent(void) {
  const char *keys[] = {absent};
  size_t lengths[] = {strlen(absent)};
  SHOW("%d\n", memcached_mget(memc, keys, lengths, 1));
  fetch_all("fetched");
}

static void act_mget_nothing(void) {
  const char *keys[] = {there};
  size_t lengths[] = {strlen(there)};
  SHOW("%d %d", memcached_mget(memc, keys, lengths, 0), memcached_mget(memc, NULL, NULL, 0));
  SHOW(" %d %d\n", memcached_mget(memc, NULL, lengths, 1), memcached_mget(memc, keys, NULL, 1));
}

static void act_mget_bad_keys(void) {
  const char *keys[] = {there, long_key, ""};
  size_t lengths[] = {strlen(there), 251, 0};
  SHOW("%d\n", memcached_mget(memc, keys, lengths, 2));
  lengths[1] = 1;
  SHOW("%d\n", memcached_mget(memc, keys, lengths, 3));
}

static void act_mget_same(void) {
  const char *keys[] = {there, there, there};
  size_t lengths[] = {strlen(there), strlen(there), strlen(there)};
  SHOW("%d\n", memcached_mget(memc, keys, lengths, 3));
  fetch_all("fetched");
}

static void act_mget_by_key(void) {
  const char *keys[] = {there, absent};
  size_t lengths[] = {strlen(there), strlen(absent)};
  SHOW("%d\n", memcached_mget_by_key(memc, NULL, 0, keys, lengths, 2));
  fetch_all("fetched");
  SHOW("%d\n", memcached_mget_by_key(memc, LENGTH("group"), keys, lengths, 0));
}

static void act_mget_then_set(void) {
  SHOW("%d\n", ask_many());
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("new"), 0, 3));
}

static void act_mget_then_quit(void) {
  SHOW("%d\n", ask_many());
  memcached_quit(memc);
  fetch_all("fetched");
}

static void act_mget_then_free(void) {
  SHOW("%d\n", ask_many());
  memcached_free(memc);
  memc = NULL;
}

static void act_mget_then_mget(void) {
  SHOW("%d\n", ask_many());
  SHOW("%d\n", ask_many());
  fetch_all("fetched");
}

static void act_mget_then_copy(void) {
  SHOW("%d\n", ask_many());
  memcached_st *copy = memcached_clone(NULL, memc);
  SHOW("%d\n", copy != NULL);
  memcached_free(copy);
}

static void act_fetch(void) {
  char key[MEMCACHED_MAX_KEY];
  size_t key_length = 99, length = 99;
  uint32_t flags = 99;
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  if (!memc)
    return; // libmemcached looks into the handle before it asks whether there is one.
  char *value = memcached_fetch(memc, key, &key_length, &length, &flags, &rc);
  free(value);
  SHOW("%d %d %d %zu\n", value != NULL, rc, key_length > 60, length);
  value = memcached_fetch(memc, NULL, NULL, NULL, NULL, NULL);
  free(value);
}

static void act_fetch_result(void) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  memcached_result_st *result = memcached_fetch_result(memc, NULL, &rc);
  SHOW("%d %d\n", result != NULL, rc);
  memcached_result_free(result);
  result = memcached_fetch_result(memc, NULL, NULL);
  memcached_result_free(result);
  fetch_all("fetched");
}

static memcached_return_t refuse(const memcached_st *of, memcached_result_st *result, void *context) {
  (void) of, (void) result;
  ++*(unsigned *) context;
  return MEMCACHED_FAILURE;
}

static void act_fetch_execute(void) {
  unsigned called = 0;
  memcached_execute_fn functions[] = {refuse, refuse};
  if (!memc)
    return; // As in act_fetch.
  SHOW("%d", memcached_fetch_execute(memc, functions, &called, 2));
  SHOW(" called %u\n", called);
  SHOW("%d\n", ask_many());
  SHOW("%d", memcached_fetch_execute(memc, functions, &called, 2));
  SHOW(" called %u\n", called);
  SHOW("%d\n", ask_many());
  SHOW("%d\n", memcached_fetch_execute(memc, NULL, NULL, 0));
}

static void act_mget_execute(void) {
  unsigned called = 0;
  memcached_execute_fn functions[] = {refuse};
  const char *keys[] = {there, absent};
  size_t lengths[] = {strlen(there), strlen(absent)};
  SHOW("%d\n", memcached_mget_execute(memc, keys, lengths, 2, functions, &called, 1));
  SHOW("%d\n", memcached_mget_execute(memc, keys, lengths, 0, functions, &called, 1));
  SHOW("%d\n", memcached_mget_execute(memc, NULL, NULL, 1, functions, &called, 1));
  fetch_all("fetched");
}

static void act_increment(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_increment(memc, LENGTH(number), 5, &value));
  SHOW(" %llu\n", (unsigned long long) value);
  SHOW("%d\n", memcached_increment(memc, LENGTH(number), 0, NULL));
}

static void act_decrement(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_decrement(memc, LENGTH(number), 5, &value));
  SHOW(" %llu\n", (unsigned long long) value);
  SHOW("%d", memcached_decrement(memc, LENGTH(number), 500, &value));
  SHOW(" %llu\n", (unsigned long long) value);
}

static void act_increment_absent(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_increment(memc, LENGTH(absent), 5, &value));
  SHOW(" %llu\n", (unsigned long long) value);
}

static void act_increment_text(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_increment(memc, LENGTH(there), 5, &value));
  SHOW(" %llu\n", (unsigned long long) value);
}

static void act_increment_no_key(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_increment(memc, NULL, 0, 5, &value));
  SHOW(" %llu\n", (unsigned long long) value);
  SHOW("%d", memcached_decrement_by_key(memc, LENGTH("group"), long_key, 260, 5, &value));
  SHOW(" %llu\n", (unsigned long long) value);
}

static void act_initial(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_increment_with_initial(memc, LENGTH(absent), 5, 42, 0, &value));
  SHOW(" %llu\n", (unsigned long long) value);
  SHOW("%d", memcached_decrement_with_initial(memc, LENGTH(number), 5, 42, 0, &value));
  SHOW(" %llu\n", (unsigned long long) value);
}

static void act_initial_not(void) {
  uint64_t value = 99;
  SHOW("%d", memcached_increment_with_initial(memc, LENGTH(absent), 5, 42, MEMCACHED_EXPIRATION_NOT_ADD, &value));
  SHOW(" %llu\n", (unsigned long long) value);
  SHOW("%d", memcached_increment_with_initial_by_key(memc, NULL, 0, NULL, 0, 5, 42, 0, &value));
  SHOW(" %llu\n", (unsigned long long) value);
}

static void act_delete(void) {
  SHOW("%d\n", memcached_delete(memc, LENGTH(there), 0));
}

static void act_delete_absent(void) {
  SHOW("%d\n", memcached_delete(memc, LENGTH(absent), 0));
}

static void act_delete_later(void) {
  SHOW("%d\n", memcached_delete(memc, LENGTH(there), 10));
}

static void act_delete_no_key(void) {
  SHOW("%d %d %d\n", memcached_delete(memc, NULL, 0, 0), memcached_delete(memc, "", 0, 0),
       memcached_delete(memc, long_key, 251, 0));
}

static memcached_return_t refuse_deletion(const memcached_st *of, const char *key, size_t length) {
  (void) of;
  SHOW("deleted %d\n", length == strlen(key));
  return MEMCACHED_FAILURE;
}

static void act_delete_trigger(void) {
  if (memcached_callback_set(memc, MEMCACHED_CALLBACK_DELETE_TRIGGER, (void *) refuse_deletion) != MEMCACHED_SUCCESS)
    SHOW("not set\n");
  SHOW("%d\n", memcached_delete(memc, LENGTH(absent), 0));
}

static void act_touch(void) {
  SHOW("%d %d\n", memcached_touch(memc, LENGTH(there), 100), memcached_touch(memc, LENGTH(absent), 100));
}

static void act_touch_no_key(void) {
  SHOW("%d %d\n", memcached_touch(memc, NULL, 0, 100), memcached_touch(memc, long_key, 251, 100));
}

static void act_exist(void) {
  SHOW("%d %d\n", memcached_exist(memc, LENGTH(there)), memcached_exist(memc, LENGTH(absent)));
}

static void act_exist_no_key(void) {
  SHOW("%d %d\n", memcached_exist(memc, NULL, 0), memcached_exist(memc, long_key, 251));
}

static void act_flush_later(void) {
  SHOW("%d\n", memcached_flush(memc, 100000));
}

static void act_flush_buffers(void) {
  SHOW("%d\n", memcached_flush_buffers(memc));
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("new"), 0, 3));
  SHOW("%d\n", memcached_flush_buffers(memc));
}

static void act_quit(void) {
  memcached_quit(memc);
  memcached_quit(memc);
}

static void act_version(void) {
  SHOW("%d %d\n", memcached_version(memc), memcached_version(memc));
}

static void act_verbosity(void) {
  SHOW("%d\n", memcached_verbosity(memc, 0));
}

static void act_stat(void) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  memcached_stat_st *stat = memcached_stat(memc, NULL, &rc);
  SHOW("%d %d %d\n", stat != NULL, rc, stat && stat->pid > 0);
  memcached_stat_free(memc, stat);
  stat = memcached_stat(memc, NULL, NULL);
  memcached_stat_free(memc, stat);
}

static void act_stat_unknown(void) {
  static char *const groups[] = {(char *) "nonsense", (char *) "settings", (char *) "", long_key};
  for (unsigned at = 0; at < COUNT(groups); at++) {
    memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
    memcached_stat_st *stat = memcached_stat(memc, groups[at], &rc);
    SHOW("%d %d\n", stat != NULL, rc);
    memcached_stat_free(memc, stat);
  }
}

static memcached_return_t count_statistic(const memcached_instance_st *server, const char *key, size_t key_length,
                                          const char *value, size_t value_length, void *context) {
  (void) server, (void) key, (void) key_length, (void) value, (void) value_length;
  ++*(unsigned *) context;
  return MEMCACHED_FAILURE;
}

static void act_stat_execute(void) {
  static const char *const groups[] = {NULL, "settings", "nonsense", "", long_key};
  for (unsigned at = 0; at < COUNT(groups); at++) {
    unsigned count = 0;
    SHOW("%d", memcached_stat_execute(memc, groups[at], count_statistic, &count));
    SHOW(" %d\n", count > 10);
  }
  SHOW("%d\n", memcached_stat_execute(memc, NULL, NULL, NULL));
}

static void act_stat_values(void) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  memcached_stat_st stat = {.pid = 5};
  char *value = memcached_stat_get_value(memc, &stat, "pid", &rc);
  SHOW("%s %d\n", value ? value : "nothing", rc);
  free(value);
  value = memcached_stat_get_value(memc, NULL, "pid", &rc);
  SHOW("%s %d\n", value ? value : "nothing", rc);
  free(value);
  value = memcached_stat_get_value(memc, &stat, "pid", NULL);
  free(value);
  if (memc) {
    value = memcached_stat_get_value(memc, &stat, "nonsense", &rc);
    SHOW("%s %d\n", value ? value : "nothing", rc);
    free(value);
  }
  rc = MEMCACHED_MAXIMUM_RETURN;
  char **keys = memcached_stat_get_keys(memc, NULL, &rc);
  SHOW("%d %d\n", keys != NULL, rc);
  free(keys);
  free(memcached_stat_get_keys(memc, &stat, NULL));
}

static void act_analyze(void) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  SHOW("%d", memcached_analyze(memc, NULL, &rc) == NULL);
  SHOW(" %d\n", rc);
  memcached_stat_st *stat = memcached_stat(memc, NULL, &rc);
  if (!stat)
    return;
  memcached_analysis_st *analysis = memcached_analyze(memc, stat, &rc);
  SHOW("%d %d\n", analysis != NULL, rc);
  memcached_analyze_free(analysis);
  memcached_analyze_free(NULL);
  memcached_stat_free(memc, stat);
}

static void act_stat_servername(void) {
  memcached_stat_st stat;
  SHOW("%d\n", memcached_stat_servername(&stat, NULL, hosts[0], ports[0]));
  SHOW("%d\n", memcached_stat_servername(NULL, NULL, hosts[0], ports[0]));
  SHOW("%d\n", memcached_stat_servername(&stat, (char *) "nonsense", hosts[0], ports[0]));
  SHOW("%d\n", memcached_stat_servername(&stat, long_key, hosts[0], ports[0]));
  SHOW("%d\n", memcached_stat_servername(&stat, NULL, "127.0.0.1", dead_port));
}

static memcached_return_t refuse_key(const memcached_st *of, const char *key, size_t length, void *context) {
  (void) of, (void) key, (void) length, (void) context;
  return MEMCACHED_FAILURE;
}

static void act_dump(void) {
  memcached_dump_fn functions[] = {refuse_key};
  SHOW("%d\n", memcached_dump(memc, NULL, NULL, 0));
  (void) functions; // Which keys are told differs: see test_online.
}

static void act_server_by_key(void) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  const memcached_instance_st *server = memcached_server_by_key(memc, LENGTH(there), &rc);
  SHOW("%d %d\n", server != NULL, rc);
  server = memcached_server_by_key(memc, NULL, 0, &rc);
  SHOW("%d %d\n", server != NULL, rc);
  server = memcached_server_by_key(memc, long_key, 251, &rc);
  SHOW("%d %d\n", server != NULL, rc);
  server = memcached_server_by_key(memc, LENGTH(there), NULL);
  SHOW("%d\n", server != NULL);
}

static void act_servers(void) {
  SHOW("%u\n", memcached_server_count(memc));
  const memcached_instance_st *server = memcached_server_instance_by_position(memc, 0);
  SHOW("%d\n", server != NULL);
  SHOW("%d %d\n", memcached_server_error(NULL) == NULL, memcached_server_error_return(NULL));
  SHOW("%d\n", memcached_server_get_last_disconnect(memc) != NULL);
  memcached_reset_last_disconnected_server(memc);
  memcached_autoeject(memc);
  SHOW("%d\n", memcached_server_get_last_disconnect(memc) != NULL);
  if (server)
    SHOW("%s %s\n", memcached_server_name(server), memcached_server_type(server));
}

static memcached_return_t refuse_server(const memcached_st *of, const memcached_instance_st *server, void *context) {
  (void) of, (void) server;
  ++*(unsigned *) context;
  return MEMCACHED_FAILURE;
}

static void act_cursor(void) {
  memcached_server_fn functions[] = {refuse_server, refuse_server};
  unsigned called = 0;
  SHOW("%d", memcached_server_cursor(memc, functions, &called, 2));
  SHOW(" %u", called);
  SHOW(" %d\n", memcached_server_cursor(memc, NULL, NULL, 0));
}

static void act_add_servers(void) {
  SHOW("%d\n", memcached_server_add(memc, NULL, 0));
  SHOW("%d\n", memcached_server_add(memc, "", 0));
  SHOW("%d %d\n", memcached_server_add_unix_socket(memc, NULL), memcached_server_add_unix_socket(memc, ""));
  SHOW("%d %d\n", memcached_server_add_udp(memc, NULL, 0), memcached_server_add_udp_with_weight(memc, "localhost", 0, 3));
  SHOW("%d\n", memcached_server_push(memc, NULL));
  SHOW("%u\n", memcached_server_count(memc));
  memcached_servers_reset(memc); // Whether somebody listens at the default port is not known here.
}

static void act_push(void) {
  memcached_st *other = memcached_create(NULL);
  SHOW("%d\n", memcached_push(memc, other));
  memcached_server_add(other, hosts[0], ports[0]);
  SHOW("%d\n", memcached_push(memc, other));
  SHOW("%d\n", memcached_push(memc, NULL));
  SHOW("%u\n", memcached_server_count(memc));
  memcached_free(other);
}

static void act_errors(void) {
  SHOW("%d %d %d\n", memcached_last_error(memc), memcached_last_error_errno(memc), memcached_last_error_message(memc) != NULL);
  SHOW("%d\n", memcached_error(memc) != NULL);
  SHOW("%s\n", memcached_strerror(memc, (memcached_return_t) 1));
  memcached_error_print(NULL);
}

static void act_behaviors(void) {
  for (int at = 0; at < MEMCACHED_BEHAVIOR_MAX; at++) {
    memcached_behavior_t behavior = (memcached_behavior_t) at;
    if (behavior == MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE || behavior == MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE
        || behavior == MEMCACHED_BEHAVIOR_DISTRIBUTION || behavior == MEMCACHED_BEHAVIOR_POLL_TIMEOUT)
      continue;
    uint64_t before = memcached_behavior_get(memc, behavior);
    SHOW("%d: %llu", at, (unsigned long long) before);
    SHOW(" %d", memcached_behavior_set(memc, behavior, before));
    SHOW(" %llu\n", (unsigned long long) memcached_behavior_get(memc, behavior));
  }
}

static void act_hashes(void) {
  for (int at = 0; at <= MEMCACHED_HASH_MAX; at++) {
    SHOW("%d", memcached_behavior_set_key_hash(memc, (memcached_hash_t) at));
    SHOW(" %d", memcached_behavior_set_distribution_hash(memc, (memcached_hash_t) at));
    SHOW(" %d\n", memcached_behavior_get_key_hash(memc));
  }
  SHOW("%d\n", memcached_behavior_set_key_hash(memc, MEMCACHED_HASH_DEFAULT));
}

static void act_callbacks(void) {
  static const memcached_callback_t every[] = {MEMCACHED_CALLBACK_PREFIX_KEY, MEMCACHED_CALLBACK_USER_DATA,
                                               MEMCACHED_CALLBACK_CLEANUP_FUNCTION, MEMCACHED_CALLBACK_CLONE_FUNCTION,
                                               MEMCACHED_CALLBACK_GET_FAILURE, MEMCACHED_CALLBACK_DELETE_TRIGGER};
  for (unsigned at = 0; at < COUNT(every); at++) {
    memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
    void *before = memcached_callback_get(memc, every[at], &rc);
    SHOW("%u: %d %d", at, before != NULL, rc);
    SHOW(" %d", memcached_callback_set(memc, every[at], NULL));
    SHOW(" %d\n", memcached_callback_get(memc, every[at], NULL) != NULL);
  }
}

static void act_namespaces(void) {
  static const char *const spaces[] = {"", "a b", "\x01", "space", long_key};
  for (unsigned at = 0; at < COUNT(spaces); at++) {
    SHOW("%d", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, spaces[at]));
    memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
    const char *is = memcached_callback_get(memc, MEMCACHED_CALLBACK_NAMESPACE, &rc);
    SHOW(" %d %s\n", rc, is ? is : "none");
  }
  char longest[129];
  memset(longest, 'n', sizeof(longest));
  longest[128] = 0;
  SHOW("%d", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, longest));
  SHOW(" %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, longest + 1));
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("new"), 0, 3));
  get_key("get", LENGTH(absent));
  get_key("long", long_key, 200);
  SHOW("%d\n", memcached_set(memc, long_key, 200, LENGTH("new"), 0, 3));
  SHOW("%d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, NULL));
}

static void act_copy(void) {
  memcached_st *copy = memcached_clone(NULL, memc);
  SHOW("%d %u\n", copy != NULL, memcached_server_count(copy));
  SHOW("%d\n", memcached_set(copy, LENGTH(absent), LENGTH("copied"), 0, 3));
  memcached_free(copy);
  memcached_st place;
  memset(&place, 0, sizeof(place));
  copy = memcached_clone(&place, memc);
  SHOW("%d\n", copy == &place);
  memcached_free(copy);
  SHOW("%d\n", memc && memcached_clone(memc, memc) == NULL);
}

static void act_reset(void) {
  SHOW("%d\n", memcached_reset(memc));
  SHOW("%u\n", memcached_server_count(memc));
  SHOW("%d\n", memcached_server_add(memc, hosts[0], ports[0]));
}

static void act_results(void) {
  memcached_result_st *result = memcached_result_create(memc, NULL);
  SHOW("%zu %u %llu %d\n", memcached_result_length(result), memcached_result_flags(result),
       (unsigned long long) memcached_result_cas(result), memcached_result_key_value(result) == NULL);
  SHOW("%d\n", memcached_result_set_value(result, NULL, 0));
  SHOW("%d %zu\n", memcached_result_take_value(result) == NULL, memcached_result_length(result));
  SHOW("%d\n", memcached_result_set_value(result, "abc", 3));
  memcached_result_reset(result);
  memcached_result_reset(result);
  SHOW("%zu\n", memcached_result_length(result));
  memcached_result_free(result);
}

static void act_result_reused(void) {
  memcached_result_st result;
  memcached_result_create(memc, &result);
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  for (int round = 0; round < 3; round++) {
    SHOW("%d\n", ask_many());
    SHOW("%d", memcached_fetch_result(memc, &result, &rc) != NULL);
    SHOW(" %d\n", rc);
  }
  memcached_result_free(&result);
}

static void act_allocators(void) {
  SHOW("%d\n", memcached_set_memory_allocators(memc, NULL, NULL, NULL, NULL, NULL));
  SHOW("%d\n", memcached_get_memory_allocators_context(memc) == NULL);
  memcached_get_memory_allocators(memc, NULL, NULL, NULL, NULL);
}

static void act_passwords(void) {
  SHOW("%d %d\n", memcached_set_sasl_auth_data(memc, NULL, NULL), memcached_set_sasl_auth_data(memc, "user", NULL));
  SHOW("%d\n", memcached_destroy_sasl_auth_data(memc));
}

static void act_hashkit(void) {
  SHOW("%d\n", memcached_set_hashkit(memc, NULL));
  SHOW("%d\n", memcached_get_hashkit(memc) != NULL);
  SHOW("%d\n", memcached_set_encoding_key(memc, NULL, 0));
}

static void act_hash(void) {
  SHOW("%d\n", memcached_generate_hash(memc, LENGTH("some key")) < 4);
}

static void act_buckets(void) {
  uint32_t map[] = {0, 0, 0, 0};
  SHOW("%d", memcached_bucket_set(memc, NULL, NULL, 0, 0));
  SHOW(" %d", memcached_bucket_set(memc, map, NULL, 0, 0));
  SHOW(" %d\n", memcached_bucket_set(memc, map, NULL, 4, 0));
}

static void act_user_data(void) {
  int data = 0;
  SHOW("%d\n", memcached_set_user_data(memc, &data) == NULL);
  SHOW("%d\n", memcached_get_user_data(memc) == &data);
}

static void act_distributions(void) {
  for (int at = 0; at < MEMCACHED_DISTRIBUTION_CONSISTENT_MAX; at++) {
    SHOW("%d", memcached_behavior_set_distribution(memc, (memcached_server_distribution_t) at));
    SHOW(" %d\n", memcached_behavior_get_distribution(memc));
  }
  SHOW("%d\n", memcached_behavior_set_distribution(memc, MEMCACHED_DISTRIBUTION_MODULA));
}

static void act_ring(void) {
  if (!memc)
    return;
  SHOW("%u %u\n", memc->ketama.continuum_points_counter, memc->ketama.continuum_count);
  static const memcached_server_distribution_t every[] = {
      MEMCACHED_DISTRIBUTION_CONSISTENT, MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA, MEMCACHED_DISTRIBUTION_CONSISTENT_KETAMA_SPY,
      MEMCACHED_DISTRIBUTION_CONSISTENT_WEIGHTED, MEMCACHED_DISTRIBUTION_MODULA};
  for (unsigned at = 0; at < COUNT(every); at++) {
    memcached_behavior_set_distribution(memc, every[at]);
    SHOW("%u %u\n", memc->ketama.continuum_points_counter, memc->ketama.continuum_count);
  }
  memcached_behavior_set_distribution(memc, MEMCACHED_DISTRIBUTION_CONSISTENT);
  memcached_server_add_with_weight(memc, hosts[0], 1, 7);
  SHOW("%u %u\n", memc->ketama.continuum_points_counter, memc->ketama.continuum_count);
  memcached_servers_reset(memc);
  SHOW("%u\n", memcached_server_count(memc));
}

static void act_udp(void) {
  SHOW("%d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_USE_UDP, 1));
  SHOW("%d %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_NOREPLY, 0),
       memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1));
  get_key("get", LENGTH(there));
  SHOW("%d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_USE_UDP, 0));
}

static void act_no_time(void) {
  uint64_t before_ms = memcached_behavior_get(memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT);
  SHOW("%d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 0));
  SHOW("%d\n", memcached_set(memc, LENGTH(absent), LENGTH("new"), 0, 3));
  get_key("get", LENGTH(number));
  SHOW("%d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, before_ms));
}

static void act_ping(void) {
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  SHOW("%d", libmemcached_util_ping(hosts[0], ports[0], &rc));
  SHOW(" %d\n", rc);
  SHOW("%d", libmemcached_util_ping("127.0.0.1", dead_port, &rc));
  SHOW(" %d\n", rc);
  SHOW("%d\n", libmemcached_util_version_check(memc, 1, 2, 3));
}

/* How sets end, one after the other. */
static void act_many_sets(void) {
  for (int at = 0; at < 24; at++) {
    char key[40];
    snprintf(key, sizeof(key), "one-of-many-%d", at);
    SHOW("%d ", memcached_set(memc, LENGTH(key), LENGTH("new"), 0, 3));
  }
  SHOW("\n");
}

/* Copies are everywhere when the connections have ended, also where these were just being made. */
static void act_copies(void) {
  static char value[700000];
  enum { KEYS = 20, LARGE_FROM = 17 };
  char key[100];
  for (int at = 0; at < KEYS; at++) {
    snprintf(key, sizeof(key), "copied-%d-%s", at, there);
    memcached_return_t rc = memcached_set(memc, LENGTH(key), value, at < LARGE_FROM ? 10 : sizeof(value), 0, 3);
    if (rc != MEMCACHED_SUCCESS)
      SHOW("not stored: %d\n", rc);
    memcached_quit(memc);
  }
  for (int server = 0; server < 2; server++) {
    memcached_st *one = memcached_create(NULL);
    be_patient(one);
    memcached_server_add(one, hosts[server], ports[server]);
    unsigned found = 0;
    for (int at = 0; at < KEYS; at++) {
      snprintf(key, sizeof(key), "copied-%d-%s", at, there);
      found += memcached_exist(one, LENGTH(key)) == MEMCACHED_SUCCESS;
      memcached_delete(one, LENGTH(key), 0);
    }
    SHOW("%u\n", found);
    memcached_free(one);
  }
}

static void act_buckets_of_none(void) {
  uint32_t map[] = {7, 99, 3, 1000000};
  SHOW("%d\n", memcached_bucket_set(memc, map, NULL, 4, 0));
}

/* A value that the handle has, fetched into a result that another handle made. */
static void act_foreign_result(void) {
  memcached_st *other = memcached_create(NULL);
  memcached_result_st *result = memcached_result_create(other, NULL);
  memcached_return_t rc = MEMCACHED_MAXIMUM_RETURN;
  SHOW("%d\n", ask_many());
  SHOW("%d", memcached_fetch_result(memc, result, &rc) == NULL);
  SHOW(" %d\n", rc);
  memcached_free(other);
}

static void act_nothing(void) {
}

static struct {
  const char *name;
  void (*act)(void);
} const acts[] = {
    {"nothing", act_nothing}, {"set", act_set}, {"set-twice", act_set_twice}, {"set-no-key", act_set_no_key},
    {"set-long-key", act_set_long_key}, {"set-odd-key", act_set_odd_key}, {"set-nothing", act_set_nothing},
    {"set-huge", act_set_huge}, {"set-expired", act_set_expired}, {"add", act_add}, {"replace", act_replace},
    {"append", act_append}, {"append-nothing", act_append_nothing}, {"prepend", act_prepend}, {"cas-wrong", act_cas_wrong},
    {"cas-none", act_cas_none}, {"by-key", act_by_key}, {"by-no-key", act_by_no_key}, {"by-long-key", act_by_long_key},
    {"get", act_get}, {"get-absent", act_get_absent}, {"get-no-key", act_get_no_key}, {"get-long-key", act_get_long_key},
    {"get-untold", act_get_untold}, {"mget", act_mget}, {"mget-one", act_mget_one}, {"mget-absent", act_mget_absent},
    {"mget-nothing", act_mget_nothing}, {"mget-bad-keys", act_mget_bad_keys}, {"mget-same", act_mget_same},
    {"mget-by-key", act_mget_by_key}, {"mget-then-set", act_mget_then_set}, {"mget-then-quit", act_mget_then_quit},
    {"mget-then-free", act_mget_then_free}, {"mget-then-mget", act_mget_then_mget}, {"mget-then-copy", act_mget_then_copy},
    {"fetch", act_fetch}, {"fetch-result", act_fetch_result}, {"fetch-execute", act_fetch_execute},
    {"mget-execute", act_mget_execute}, {"increment", act_increment}, {"decrement", act_decrement},
    {"increment-absent", act_increment_absent}, {"increment-text", act_increment_text},
    {"increment-no-key", act_increment_no_key}, {"initial", act_initial}, {"initial-not", act_initial_not},
    {"delete", act_delete}, {"delete-absent", act_delete_absent}, {"delete-later", act_delete_later},
    {"delete-no-key", act_delete_no_key}, {"delete-trigger", act_delete_trigger}, {"touch", act_touch},
    {"touch-no-key", act_touch_no_key}, {"exist", act_exist}, {"exist-no-key", act_exist_no_key},
    {"flush-later", act_flush_later}, {"flush-buffers", act_flush_buffers}, {"quit", act_quit}, {"version", act_version},
    {"verbosity", act_verbosity}, {"stat", act_stat}, {"stat-unknown", act_stat_unknown}, {"stat-execute", act_stat_execute},
    {"stat-values", act_stat_values}, {"analyze", act_analyze}, {"stat-servername", act_stat_servername}, {"dump", act_dump},
    {"server-by-key", act_server_by_key}, {"servers", act_servers}, {"cursor", act_cursor}, {"add-servers", act_add_servers},
    {"push", act_push}, {"errors", act_errors}, {"behaviors", act_behaviors}, {"hashes", act_hashes},
    {"callbacks", act_callbacks}, {"namespaces", act_namespaces}, {"copy", act_copy}, {"reset", act_reset},
    {"results", act_results}, {"result-reused", act_result_reused}, {"allocators", act_allocators},
    {"passwords", act_passwords}, {"hashkit", act_hashkit}, {"hash", act_hash}, {"buckets", act_buckets},
    {"user-data", act_user_data}, {"distributions", act_distributions}, {"ring", act_ring}, {"udp", act_udp},
    {"many-sets", act_many_sets}, {"copies", act_copies},
    {"buckets-of-none", act_buckets_of_none}, {"foreign-result", act_foreign_result}, {"no-time", act_no_time}, {"ping", act_ping},
};

/* One case: the act, what the handle then knows of it, and whether it still works. */
static void run_case(unsigned serial, unsigned kind, unsigned act) {
  alarm(LONGEST_S);
  prepare_keys(serial);
  kinds[kind].make();
  acts[act].act();
  /* Of a connection that has ended it is chance whether the system says so, or the end of what is read. */
  bool has_errno = kinds[kind].make != closing && memcached_last_error_errno(memc) != 0;
  SHOW("error %d %d\n", memcached_last_error(memc), has_errno);
  get_key("then", LENGTH(there));
  get_key("then", LENGTH(number));
  memcached_free(memc);
  fflush(stdout);
}

/* What a process of its own does; how it ended, or 0. */
static int in_process(void (*run)(unsigned, unsigned, unsigned), unsigned serial, unsigned kind, unsigned act) {
  pid_t child = fork();
  if (child == 0) {
    run(serial, kind, act);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? 1000 + WEXITSTATUS(status) : 0;
}

/* Many acts on one handle. */
static void run_sequence(unsigned serial, unsigned kind, unsigned act_count) {
  alarm(LONGEST_S);
  if (!getenv("SHOW_ACTS") && !freopen("/dev/null", "w", stdout))
    exit(1);
  prepare_keys(serial);
  kinds[kind].make();
  SHOW("kind %s\n", kinds[kind].name);
  srand(serial);
  for (unsigned at = 0; at < act_count; at++) {
    unsigned act = (unsigned) rand() % COUNT(acts);
    SHOW("act %s\n", acts[act].name);
    acts[act].act();
  }
  memcached_free(memc);
}

static int run_sequences(unsigned first, unsigned count) {
  enum { ACTS = 25 };
  for (unsigned seed = first; seed < first + count; seed++) {
    int end = in_process(run_sequence, seed, seed % COUNT(kinds), ACTS);
    if (end)
      SHOW("seed %u ended by %d\n", seed, end);
  }
  return 0;
}

/* Runs one case and says how it ended, if its name begins so. */
static void run_named_case(unsigned kind, unsigned act, const char *prefix) {
  char name[100];
  snprintf(name, sizeof(name), "%s/%s", kinds[kind].name, acts[act].name);
  if (strncmp(name, prefix, strlen(prefix)))
    return;
  SHOW("case %s\n", name);
  fflush(stdout);
  int end = in_process(run_case, kind * 1000 + act, kind, act);
  if (end)
    SHOW("ended by %d\n", end);
}

/* HOST PORT HOST PORT DEAD_PORT SILENT_PORT CLOSING_PORT [random SEED COUNT | PREFIX [FIRST STEP]]: with FIRST and STEP
   every STEP-th act from the first on, so that several processes can share the acts of one kind. */
int main(int count, char **arguments) {
  if (count < 8)
    return 1;
  for (int at = 0; at < 2; at++) {
    hosts[at] = arguments[1 + 2 * at];
    ports[at] = (in_port_t) atoi(arguments[2 + 2 * at]);
  }
  dead_port = (in_port_t) atoi(arguments[5]);
  silent_port = (in_port_t) atoi(arguments[6]);
  closing_port = (in_port_t) atoi(arguments[7]);
  memset(long_key, 'l', sizeof(long_key) - 1);
  setvbuf(stdout, NULL, _IOLBF, 0); // What was said before a crash counts.
  if (count > 10 && !strcmp(arguments[8], "random"))
    return run_sequences((unsigned) atoi(arguments[9]), (unsigned) atoi(arguments[10]));
  const char *kind_prefix = count > 8 ? arguments[8] : "";
  unsigned first = count > 10 ? (unsigned) atoi(arguments[9]) : 0;
  unsigned step = count > 10 ? (unsigned) atoi(arguments[10]) : 1;
  for (unsigned kind = 0; kind < COUNT(kinds); kind++) {
    for (unsigned act = first; act < COUNT(acts); act += step)
      run_named_case(kind, act, kind_prefix);
  }
  return 0;
}
