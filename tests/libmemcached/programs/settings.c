/* Everything of libmemcached that needs no server. */
#include <libmemcached/memcached.h>
#include <libmemcached/util.h>

#include "show.h"

/* Messages name the handle's address and libmemcached's source: only what is said between them is compared. */
static void show_error(const char *title, const memcached_st *memc) {
  const char *message = memcached_last_error_message(memc), *start = strchr(message, ' '), *end;
  if (*message != '(' || start == NULL) {
    start = message;
  }
  end = strstr(start, " -> ");
  SHOW("%s: %d %d '%.*s'\n", title, memcached_last_error(memc), memcached_last_error_errno(memc),
       (int) (end ? end - start : (long) strlen(start)), start);
}

static void texts(void) {
  for (unsigned code = 0; code <= MEMCACHED_MAXIMUM_RETURN + 1; code++) {
    SHOW("%u %s\n", code, memcached_strerror(NULL, code));
  }
  for (unsigned behavior = 0; behavior <= MEMCACHED_BEHAVIOR_MAX + 1; behavior++) {
    SHOW("%u %s\n", behavior, libmemcached_string_behavior(behavior));
  }
  for (unsigned distribution = 0; distribution <= MEMCACHED_DISTRIBUTION_CONSISTENT_MAX; distribution++) {
    SHOW("%u %s\n", distribution, libmemcached_string_distribution(distribution));
  }
  for (unsigned hash = 0; hash <= MEMCACHED_HASH_MAX; hash++) {
    SHOW("%u %s\n", hash, libmemcached_string_hash(hash));
    if (hash != MEMCACHED_HASH_HSIEH && hash < MEMCACHED_HASH_CUSTOM) {
      SHOW("  %08x\n", memcached_generate_hash_value("some key", 8, hash));
    }
  }
  SHOW("%s\n", memcached_lib_version());
}

static void show_behaviors(const char *title, memcached_st *memc) {
  SHOW("%s:", title);
  for (unsigned behavior = 0; behavior < MEMCACHED_BEHAVIOR_MAX; behavior++) {
    if (behavior != MEMCACHED_BEHAVIOR_SOCKET_SEND_SIZE && behavior != MEMCACHED_BEHAVIOR_SOCKET_RECV_SIZE
        && behavior != MEMCACHED_BEHAVIOR_USER_DATA)
    {
      SHOW(" %llu", (unsigned long long) memcached_behavior_get(memc, behavior));
    }
  }
  SHOW("\n");
}

static void behaviors(void) {
  static const uint64_t values[] = {0, 1, 2, 7, 11, 12, 4000, UINT64_MAX};
  memcached_st *memc = memcached_create(NULL);
  show_behaviors("new", memc);
  for (unsigned behavior = 0; behavior < MEMCACHED_BEHAVIOR_MAX; behavior++) {
    for (unsigned at = 0; at < sizeof(values) / sizeof(*values); at++) {
      memcached_return_t rc = memcached_behavior_set(memc, behavior, values[at]);
      SHOW("set %u %llu: %d\n", behavior, (unsigned long long) values[at], rc);
      show_behaviors("  now", memc);
    }
    show_error("  error", memc);
    memcached_st *copy = memcached_clone(NULL, memc);
    show_behaviors("  copy", copy);
    memcached_free(copy);
    memcached_reset(memc);
  }
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_USE_UDP, 1);
  SHOW("buffering with UDP %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1));
  SHOW("replies with UDP %d\n", memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_NOREPLY, 0));
  SHOW("distribution %d %d\n", memcached_behavior_set_distribution(memc, MEMCACHED_DISTRIBUTION_RANDOM),
       memcached_behavior_get_distribution(memc));
  SHOW("hash %d %d\n", memcached_behavior_set_key_hash(memc, MEMCACHED_HASH_MD5), memcached_behavior_get_key_hash(memc));
  SHOW("ring hash %d %d\n", memcached_behavior_set_distribution_hash(memc, MEMCACHED_HASH_CRC),
       memcached_behavior_get_distribution_hash(memc));
  SHOW("none %d %d %d\n", memcached_behavior_set(NULL, 0, 0), memcached_behavior_set_distribution(NULL, 0),
       memcached_behavior_get_distribution(NULL));
  memcached_free(memc);
}

static memcached_return_t show_server(const memcached_st *memc, const memcached_instance_st *server, void *context) {
  (void) memc;
  SHOW("  %s %d %s %u.%u.%u count %u source %u error %s %d\n", memcached_server_name(server),
       memcached_server_port(server), memcached_server_type(server), memcached_server_major_version(server),
       memcached_server_minor_version(server), memcached_server_micro_version(server),
       memcached_server_response_count(server), memcached_server_srcport(server), memcached_server_error(server),
       memcached_server_error_return(server));
  ++*(int *) context;
  return *(int *) context == 2 ? MEMCACHED_FAILURE : MEMCACHED_SUCCESS;
}

static void show_servers(const char *title, const memcached_st *memc) {
  const memcached_server_fn callbacks[] = {show_server};
  int count = 0;
  SHOW("%s: %u servers\n", title, memcached_server_count(memc));
  SHOW("  cursor %d", memcached_server_cursor(memc, callbacks, &count, 1));
  SHOW(" called %d\n", count);
}

static void show_list(const char *text) {
  memcached_server_st *list = memcached_servers_parse(text);
  SHOW("'%s': %u\n", text, memcached_server_list_count(list));
  for (unsigned at = 0; at < memcached_server_list_count(list); at++) {
    SHOW("  %s %u weight %u type %d\n", list[at].hostname, list[at].port, list[at].weight, list[at].type);
  }
  memcached_server_list_free(list);
}

static void lists(void) {
  static const char *const texts[] = {
      "localhost", "a:1", "a:1,b:2", "a:1, b:2", "a:1:5,b:2 7", "/tmp/socket,h", "[::1]:7,[fe80::2]", "a,,b", "a:x",
      "one.example.com:11211,two.example.com,10.0.0.1:9:3", ""};
  for (unsigned at = 0; at < sizeof(texts) / sizeof(*texts); at++) {
    show_list(texts[at]);
  }
  memcached_return_t rc;
  memcached_server_st *list = memcached_server_list_append(NULL, "first", 0, &rc);
  SHOW("append %d\n", rc);
  list = memcached_server_list_append_with_weight(list, "second", 22, 8, &rc);
  list = memcached_server_list_append(list, NULL, 5, &rc);
  list = memcached_server_list_append(list, "/a/socket", 5, &rc);
  SHOW("list of %u\n", memcached_server_list_count(list));
  memcached_st *memc = memcached_create(NULL);
  SHOW("push %d %d %d\n", memcached_server_push(memc, list), memcached_server_push(memc, NULL),
       memcached_server_push(NULL, list));
  memcached_server_error_reset(list);
  memcached_server_free(list);
  show_servers("pushed", memc);
  SHOW("add %d %d %d %d\n", memcached_server_add(memc, "x", 1), memcached_server_add(memc, NULL, 0),
       memcached_server_add_with_weight(memc, "/sock", 3, 2), memcached_server_add(NULL, "x", 1));
  SHOW("socket %d %d\n", memcached_server_add_unix_socket(memc, "/s1"),
       memcached_server_add_unix_socket_with_weight(memc, "/s2", 9));
  SHOW("no socket %d\n", memcached_server_add_unix_socket(memc, ""));
  show_error("no socket", memc);
  SHOW("udp %d %d\n", memcached_server_add_udp(memc, "u", 1), memcached_server_add_udp_with_weight(memc, "u", 1, 2));
  show_error("udp", memc);
  show_servers("added", memc);
  memcached_st *other = memcached_create(NULL);
  SHOW("push %d\n", memcached_push(other, memc));
  show_servers("other", other);
  memcached_behavior_set(other, MEMCACHED_BEHAVIOR_SORT_HOSTS, 1);
  show_servers("sorted", other);
  const memcached_instance_st *server = memcached_server_instance_by_position(other, 1);
  SHOW("position %s\n", memcached_server_name(server));
  memcached_instance_next_retry(server, 5);
  SHOW("none %s %d %d\n", memcached_server_type(NULL), memcached_server_major_version(NULL),
       memcached_server_error_return(NULL));
  SHOW("last lost %d\n", memcached_server_get_last_disconnect(other) != NULL);
  memcached_reset_last_disconnected_server(other);
  memcached_servers_reset(other);
  show_servers("reset", other);
  show_error("reset", other);
  memcached_free(other);
  memcached_free(memc);
}

static void placements(void) {
  static const char *const keys[] = {"a", "key", "some longer key", "0", "1", "2", "3", "4", "5", "\xe4\xf6", "end"};
  for (unsigned distribution = 0; distribution < MEMCACHED_DISTRIBUTION_CONSISTENT_MAX; distribution++) {
    for (unsigned hash = 0; hash < MEMCACHED_HASH_CUSTOM; hash++) {
      if (distribution == MEMCACHED_DISTRIBUTION_RANDOM || hash == MEMCACHED_HASH_HSIEH) {
        continue;
      }
      memcached_st *memc = memcached_create(NULL);
      memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_HASH, hash);
      memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_DISTRIBUTION, distribution);
      memcached_server_add_with_weight(memc, "10.0.0.1", 11211, 2);
      memcached_server_add_with_weight(memc, "10.0.0.2", 11212, hash % 2 ? 3 : 1);
      memcached_server_add_with_weight(memc, "10.0.0.3", 11213, 1);
      memcached_server_add_with_weight(memc, "10.0.0.4", 11214, 1);
      SHOW("%u %u:", distribution, hash);
      for (unsigned namespace = 0; namespace < 2; namespace++) {
        for (unsigned key = 0; key < sizeof(keys) / sizeof(*keys); key++) {
          memcached_return_t rc = MEMCACHED_SUCCESS;
          size_t length = strlen(keys[key]);
          const memcached_instance_st *server = memcached_server_by_key(memc, keys[key], length, &rc);
          SHOW(" %u/%s/%d", memcached_generate_hash(memc, keys[key], length), memcached_server_name(server), rc);
        }
        memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "space:");
        memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_HASH_WITH_PREFIX_KEY, 1);
      }
      SHOW("\n");
      memcached_autoeject(memc);
      memcached_free(memc);
    }
  }
  memcached_st *memc = memcached_create(NULL);
  memcached_return_t rc;
  SHOW("no servers %d", memcached_server_by_key(memc, "k", 1, &rc) == NULL);
  SHOW(" %d\n", rc);
  memcached_server_add(memc, "a", 0);
  memcached_server_add(memc, "b", 0);
  const uint32_t hosts[] = {0, 1, 0, 1, 1, 1, 0, 0};
  SHOW("buckets %d %d %d\n", memcached_bucket_set(memc, hosts, NULL, 8, 1), memcached_bucket_set(memc, NULL, NULL, 8, 1),
       memcached_bucket_set(NULL, hosts, NULL, 8, 1));
  for (unsigned key = 0; key < sizeof(keys) / sizeof(*keys); key++) {
    SHOW(" %u", memcached_generate_hash(memc, keys[key], strlen(keys[key])));
  }
  SHOW("\n");
  char long_key[300];
  memset(long_key, 'k', sizeof(long_key));
  SHOW("too long %d", memcached_server_by_key(memc, long_key, 251, &rc) == NULL);
  SHOW(" %d\n", rc);
  show_error("too long", memc);
  SHOW("empty %d", memcached_server_by_key(memc, "", 0, &rc) == NULL);
  SHOW(" %d\n", rc);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_VERIFY_KEY, 1);
  SHOW("blank %d", memcached_server_by_key(memc, "a b", 3, &rc) == NULL);
  SHOW(" %d\n", rc);
  show_error("blank", memc);
  SHOW("query %llu\n", (unsigned long long) memcached_query_id(memc));
  hashkit_st *kit = hashkit_clone(NULL, memcached_get_hashkit(memc));
  hashkit_set_function(kit, HASHKIT_HASH_MD5);
  SHOW("kit %d", memcached_set_hashkit(memc, kit));
  SHOW(" %d\n", memcached_behavior_get_key_hash(memc));
  hashkit_free(kit);
  memcached_free(memc);
}

static memcached_return_t cloned(memcached_st *to, const memcached_st *from) {
  SHOW("cloned %d %d\n", to != from, memcached_server_count(to) == memcached_server_count(from));
  return MEMCACHED_SUCCESS;
}

static memcached_return_t cleaned(const memcached_st *memc) {
  SHOW("cleaned, user data %d\n", memcached_get_user_data(memc) != NULL);
  return MEMCACHED_SUCCESS;
}

static void callbacks(void) {
  static char data[] = "data", long_name[200];
  memcached_st *memc = memcached_create(NULL), place;
  memcached_return_t rc;
  memset(long_name, 'n', sizeof(long_name) - 1);
  for (unsigned callback = 0; callback < MEMCACHED_CALLBACK_MAX; callback++) {
    if (callback < 4 || callback > 6) {
      SHOW("nothing %u %d", callback, memcached_callback_get(memc, callback, &rc) == NULL);
      SHOW(" %d\n", rc);
    }
  }
  SHOW("invalid %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_MAX, NULL));
  SHOW("namespace %d %s\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "ns:"),
       (char *) memcached_callback_get(memc, MEMCACHED_CALLBACK_NAMESPACE, &rc));
  SHOW("long %d", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, long_name));
  show_error(" long", memc);
  SHOW("blank %d", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, "a b"));
  show_error(" blank", memc);
  SHOW("empty %d", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, ""));
  show_error(" empty", memc);
  SHOW("none %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_NAMESPACE, NULL));
  SHOW("data %d %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_USER_DATA, data),
       memcached_get_user_data(memc) == data);
  SHOW("data %d %d\n", memcached_set_user_data(memc, memc) == data,
       memcached_callback_get(memc, MEMCACHED_CALLBACK_USER_DATA, NULL) == memc);
  SHOW("clone %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_CLONE_FUNCTION, (void *) cloned));
  SHOW("cleanup %d\n", memcached_callback_set(memc, MEMCACHED_CALLBACK_CLEANUP_FUNCTION, (void *) cleaned));
  SHOW("same %d\n", memcached_callback_get(memc, MEMCACHED_CALLBACK_CLEANUP_FUNCTION, &rc) == (void *) cleaned);
  memcached_server_add(memc, "host", 5);
  memset(&place, 0, sizeof(place));
  SHOW("in place %d\n", memcached_clone(&place, memc) == &place);
  memcached_free(&place);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_NOREPLY, 1);
  SHOW("trigger %d", memcached_callback_set(memc, MEMCACHED_CALLBACK_DELETE_TRIGGER, (void *) cleaned));
  show_error(" trigger", memc);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_NOREPLY, 0);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
  SHOW("trigger %d", memcached_callback_set(memc, MEMCACHED_CALLBACK_DELETE_TRIGGER, (void *) cleaned));
  show_error(" trigger", memc);
  memcached_free(memc);
}

static void results(void) {
  memcached_st *memc = memcached_create(NULL);
  memcached_result_st place, *made = memcached_result_create(memc, NULL);
  SHOW("in place %d\n", memcached_result_create(memc, &place) == &place);
  SHOW("new %d %zu %zu %u %llu %d\n", memcached_result_value(made) == NULL, memcached_result_length(made),
       memcached_result_key_length(made), memcached_result_flags(made), (unsigned long long) memcached_result_cas(made),
       memcached_result_key_value(made) == NULL);
  SHOW("set %d\n", memcached_result_set_value(made, "value", 5));
  SHOW("more %d\n", memcached_result_set_value(made, " and more", 9));
  memcached_result_set_flags(made, 77);
  memcached_result_set_expiration(made, 99);
  SHOW("now %.*s %u %ld\n", (int) memcached_result_length(made), memcached_result_value(made),
       memcached_result_flags(made), (long) made->item_expiration);
  memcached_result_reset(made);
  SHOW("reset %zu %u\n", memcached_result_length(made), memcached_result_flags(made));
  memcached_result_set_value(made, "taken", 5);
  char *taken = memcached_result_take_value(made);
  SHOW("%.5s %zu\n", taken, memcached_result_length(made));
  free(taken);
  memcached_result_free(made);
  memcached_result_free(&place);
  memcached_result_free(NULL);
  memcached_free(memc);
}

static unsigned allocations;

static void *count_malloc(const memcached_st *memc, const size_t size, void *context) {
  (void) memc;
  ++*(unsigned *) context;
  return malloc(size);
}

static void *count_calloc(const memcached_st *memc, size_t count, const size_t size, void *context) {
  (void) memc;
  ++*(unsigned *) context;
  return calloc(count, size);
}

static void *count_realloc(const memcached_st *memc, void *memory, const size_t size, void *context) {
  (void) memc;
  ++*(unsigned *) context;
  return realloc(memory, size);
}

static void count_free(const memcached_st *memc, void *memory, void *context) {
  (void) memc, (void) context;
  free(memory);
}

static void allocators(void) {
  memcached_st *memc = memcached_create(NULL);
  memcached_malloc_fn malloc_fn;
  memcached_free_fn free_fn;
  memcached_realloc_fn realloc_fn;
  memcached_calloc_fn calloc_fn;
  memcached_get_memory_allocators(memc, &malloc_fn, &free_fn, &realloc_fn, &calloc_fn);
  SHOW("default %d %d\n", malloc_fn && free_fn && realloc_fn && calloc_fn,
       memcached_get_memory_allocators_context(memc) == NULL);
  SHOW("some %d\n", memcached_set_memory_allocators(memc, count_malloc, NULL, NULL, NULL, NULL));
  show_error("some", memc);
  SHOW("all %d\n",
       memcached_set_memory_allocators(memc, count_malloc, count_free, count_realloc, count_calloc, &allocations));
  SHOW("context %d\n", memcached_get_memory_allocators_context(memc) == &allocations);
  memcached_result_st *result = memcached_result_create(memc, NULL);
  memcached_result_set_value(result, "v", 1);
  memcached_result_free(result);
  SHOW("called %d\n", allocations > 0);
  SHOW("none %d\n", memcached_set_memory_allocators(memc, NULL, NULL, NULL, NULL, NULL));
  SHOW("nobody %d\n", memcached_set_memory_allocators(NULL, NULL, NULL, NULL, NULL, NULL));
  memcached_free(memc);
}

static void option_strings(void) {
  static const char *const texts[] = {
      "--SERVER=localhost", "--server=localhost:11212", "--SERVER=10.0.0.1:5/?7", "--SERVER=host.example.com/?2",
      "--SERVER=h", "--SERVER=ab", "--SERVER=", "--SERVER", "--SERVER=localhost:123456", "--SERVER=localhost:",
      "--SERVER=localhost --SERVER=localhost:2", "--SERVER=localhost  --SERVER=localhost:2", " --SERVER=localhost",
      "--SERVER=localhost ", "--SOCKET=\"/tmp/some.sock\"", "--SOCKET=\"/tmp/s\"/?3", "--SOCKET=/tmp/s",
      "--BINARY-PROTOCOL", "--BUFFER-REQUESTS", "--NOREPLY", "--SORT-HOSTS", "--SUPPORT-CAS", "--TCP-NODELAY",
      "--TCP-KEEPALIVE", "--TCP-KEEPIDLE", "--VERIFY-KEY", "--USE-UDP", "--HASH-WITH-NAMESPACE", "--USER-DATA",
      "--RANDOMIZE-REPLICA-READ", "--FETCH-VERSION", "--CONNECT-TIMEOUT=17", "--IO-BYTES-WATERMARK=18",
      "--IO-KEY-PREFETCH=19", "--IO-MSG-WATERMARK=20", "--NUMBER-OF-REPLICAS=2", "--POLL-TIMEOUT=21",
      "--RCV-TIMEOUT=22", "--REMOVE-FAILED-SERVERS=1", "--RETRY-TIMEOUT=23", "--SND-TIMEOUT=24",
      "--SOCKET-RECV-SIZE=25", "--SOCKET-SEND-SIZE=26", "--POLL-TIMEOUT=", "--POLL-TIMEOUT=x", "--POLL-TIMEOUT",
      "--NAMESPACE=myspace", "--NAMESPACE=\"some.thing\"", "--NAMESPACE=\"\"", "--NAMESPACE=\"a b\"",
      "--NAMESPACE=one --NAMESPACE=two", "--POOL-MIN=3 --POOL-MAX=9", "--DISTRIBUTION=consistent",
      "--DISTRIBUTION=modula", "--DISTRIBUTION=random", "--DISTRIBUTION=consistent,MD5", "--DISTRIBUTION=modula,crc",
      "--DISTRIBUTION=nothing", "--DISTRIBUTION=consistent,nothing", "--HASH=MD5", "--HASH=CRC", "--HASH=FNV1_64",
      "--HASH=FNV1A_64", "--HASH=FNV1_32", "--HASH=FNV1A_32", "--HASH=HSIEH", "--HASH=MURMUR", "--HASH=JENKINS",
      "--HASH=MURMUR3", "--HASH=MD5 --HASH=CRC", "--NOSUCHOPTION", "--NO-SUCH=1", "nonsense", "#comment", "END",
      "--BINARY-PROTOCOL END --NOSUCH", "RESET", "--BINARY-PROTOCOL RESET --SERVER=localhost", "CSL_ERROR",
      "--SERVER=localhost\t", "--SERVER=localhost\n", "--CONFIGURE-FILE=\"/does/not/exist\"",
      "INCLUDE \"/does/not/exist\"", "--VERIFY-KEY --BINARY-PROTOCOL", "--BINARY-PROTOCOL --VERIFY-KEY"};
  for (unsigned at = 0; at < sizeof(texts) / sizeof(*texts); at++) {
    char buffer[1024] = "untouched";
    size_t length = strlen(texts[at]);
    memcached_return_t rc = libmemcached_check_configuration(texts[at], length, buffer, sizeof(buffer));
    memcached_st *memc = memcached(texts[at], length);
    SHOW("'%s': %d %d %d\n", texts[at], rc, *buffer != 0, memc != NULL);
    if (memc) {
      show_behaviors("  is", memc);
      SHOW("  %s %u %u\n", (char *) memcached_callback_get(memc, MEMCACHED_CALLBACK_NAMESPACE, NULL),
           memc->configure.initial_pool_size, memc->configure.max_pool_size);
      show_servers("  of", memc);
      memcached_free(memc);
    }
  }
  SHOW("nothing %d %d\n", libmemcached_check_configuration(NULL, 0, NULL, 0),
       libmemcached_check_configuration("", 0, NULL, 0));
  SHOW("nothing %d %d\n", memcached("", 0) == NULL, memcached(NULL, 3) == NULL);
  memcached_st *memc = memcached(NULL, 0);
  SHOW("empty %d\n", memc != NULL);
  memcached_free(memc);
}

static void without_servers(void) {
  memcached_st *memc = memcached_create(NULL);
  uint64_t number = 5;
  memcached_return_t rc;
  size_t length = 9;
  uint32_t flags = 9;
  const char *keys[] = {"k"};
  size_t lengths[] = {1};
  show_error("new", memc);
  SHOW("set %d\n", memcached_set(memc, "k", 1, "v", 1, 0, 0));
  show_error("set", memc);
  SHOW("get %d", memcached_get(memc, "k", 1, &length, &flags, &rc) == NULL);
  SHOW(" %d %zu %u\n", rc, length, flags);
  SHOW("mget %d\n", memcached_mget(memc, keys, lengths, 1));
  SHOW("increment %d", memcached_increment(memc, "k", 1, 1, &number));
  SHOW(" %llu\n", (unsigned long long) number);
  SHOW("delete %d touch %d exist %d\n", memcached_delete(memc, "k", 1, 0), memcached_touch(memc, "k", 1, 0),
       memcached_exist(memc, "k", 1));
  SHOW("flush %d version %d verbosity %d\n", memcached_flush(memc, 0), memcached_version(memc),
       memcached_verbosity(memc, 1));
  SHOW("stat %d", memcached_stat(memc, NULL, &rc) == NULL);
  SHOW(" %d\n", rc);
  SHOW("dump %d\n", memcached_dump(memc, NULL, NULL, 0));
  SHOW("fetch %d", memcached_fetch_result(memc, NULL, &rc) == NULL);
  SHOW(" %d\n", rc);
  SHOW("buffers %d\n", memcached_flush_buffers(memc));
  SHOW("query %llu\n", (unsigned long long) memcached_query_id(memc));
  memcached_quit(memc);
  SHOW("none %d %s\n", memcached_last_error(NULL), memcached_last_error_message(NULL));
  SHOW("none %d %d %d %d\n", memcached_version(NULL), memcached_reset(NULL), memcached_server_count(NULL),
       memcached_fetch_result(NULL, NULL, &rc) == NULL);
  memcached_free(memc);
  memcached_free(NULL);
}

static void passwords(void) {
  memcached_st *memc = memcached_create(NULL);
  SHOW("none %d\n", memcached_get_sasl_callbacks(memc) == NULL);
  SHOW("set %d %d %d %d\n", memcached_set_sasl_auth_data(memc, "user", "secret"),
       memcached_set_sasl_auth_data(memc, NULL, "secret"), memcached_set_sasl_auth_data(memc, "user", NULL),
       memcached_set_sasl_auth_data(NULL, "user", "secret"));
  sasl_callback_t *callbacks = memcached_get_sasl_callbacks(memc);
  for (; callbacks->id != SASL_CB_LIST_END; callbacks++) {
    SHOW("callback %lx\n", callbacks->id);
  }
  show_behaviors("sasl", memc);
  memcached_st *copy = memcached_clone(NULL, memc);
  SHOW("copy %d\n", memcached_get_sasl_callbacks(copy) != NULL
       && memcached_get_sasl_callbacks(copy) != memcached_get_sasl_callbacks(memc));
  memcached_free(copy);
  SHOW("destroy %d %d\n", memcached_destroy_sasl_auth_data(memc), memcached_destroy_sasl_auth_data(memc));
  SHOW("none %d\n", memcached_get_sasl_callbacks(memc) == NULL);
  memcached_set_sasl_callbacks(memc, NULL);
  memcached_free(memc);
}

int main(void) {
  texts();
  behaviors();
  lists();
  placements();
  callbacks();
  results();
  allocators();
  option_strings();
  without_servers();
  passwords();
  return 0;
}
