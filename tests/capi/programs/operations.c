/* Every operation once, and how each fails: operations SERVER */
#include <farcache.h>

#include "want.h"

static farcache_client *client;

/* Waits, keeps what it brought, and frees the request. */
static farcache_status end(farcache_request *request, farcache_result *result) {
  farcache_result unused;
  farcache_status status = farcache_wait(request);
  WANT(farcache_request_result(request, result ? result : &unused) == status);
  WANT((status == FARCACHE_STATUS_OK) == (*farcache_request_message(request) == 0));
  farcache_request_free(request);
  return status;
}

static farcache_request *set(const char *key, const char *value, const farcache_call *call) {
  farcache_request *request;
  WANT(farcache_set(client, key, strlen(key), value, strlen(value), 0, call, &request) == FARCACHE_STATUS_OK);
  return request;
}

/* What is stored there, for a comparison. */
static int holds(const char *key, const char *expected) {
  char room[100];
  farcache_request *request;
  farcache_result result;
  WANT(farcache_get(client, key, strlen(key), room, sizeof(room), NULL, &request) == FARCACHE_STATUS_OK);
  farcache_status status = end(request, &result);
  if (expected == NULL) {
    return status == FARCACHE_STATUS_NOT_FOUND;
  }
  return status == FARCACHE_STATUS_OK && result.value == room && result.value_bytes == strlen(expected)
         && memcmp(room, expected, result.value_bytes) == 0;
}

static void storing(void) {
  farcache_request *request;
  farcache_result first, second;
  farcache_call call = FARCACHE_CALL_INIT;
  call.flags = 77;
  WANT(end(set("k", "one", &call), &first) == FARCACHE_STATUS_OK && first.cas != 0);
  WANT(holds("k", "one"));
  farcache_get(client, "k", 1, NULL, 0, NULL, &request);
  WANT(end(request, &second) == FARCACHE_STATUS_OK && second.flags == 77 && second.cas == first.cas);
  call.cas = first.cas + 1;
  WANT(end(set("k", "two", &call), NULL) == FARCACHE_STATUS_EXISTS);
  call.cas = first.cas;
  WANT(end(set("k", "two", &call), NULL) == FARCACHE_STATUS_OK);
  farcache_add(client, "k", 1, "x", 1, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_EXISTS);
  farcache_replace(client, "absent", 6, "x", 1, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NOT_FOUND);
  farcache_replace(client, "k", 1, "b", 1, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  farcache_append(client, "k", 1, "c", 1, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  farcache_prepend(client, "k", 1, "a", 1, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  WANT(holds("k", "abc"));
  farcache_append(client, "absent", 6, "c", 1, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NOT_STORED);
  WANT(end(set("empty", "", NULL), NULL) == FARCACHE_STATUS_OK);
  WANT(holds("empty", ""));
  farcache_delete(client, "k", 1, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  WANT(holds("k", NULL));
  farcache_delete(client, "k", 1, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NOT_FOUND);
}

static void touching(void) {
  farcache_request *request;
  farcache_result result;
  WANT(end(set("t", "here", NULL), NULL) == FARCACHE_STATUS_OK);
  farcache_touch(client, "t", 1, 1000, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  farcache_touch(client, "absent", 6, 1000, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NOT_FOUND);
  farcache_get_and_touch(client, "t", 1, 1000, NULL, 0, NULL, &request);
  WANT(end(request, &result) == FARCACHE_STATUS_OK && result.value_bytes == 4);
}

static void counting(void) {
  farcache_request *request;
  farcache_result result;
  uint64_t initial = 40;
  farcache_increment(client, "n", 1, 1, NULL, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NOT_FOUND);
  farcache_increment(client, "n", 1, 1, &initial, 0, NULL, &request);
  WANT(end(request, &result) == FARCACHE_STATUS_OK && result.number == 40);
  farcache_increment(client, "n", 1, 3, &initial, 0, NULL, &request);
  WANT(end(request, &result) == FARCACHE_STATUS_OK && result.number == 43);
  farcache_decrement(client, "n", 1, 1, NULL, 0, NULL, &request);
  WANT(end(request, &result) == FARCACHE_STATUS_OK && result.number == 42);
  WANT(end(set("word", "word", NULL), NULL) == FARCACHE_STATUS_OK);
  farcache_increment(client, "word", 4, 1, NULL, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NOT_NUMERIC);
}

static void many(void) {
  farcache_slice keys[3] = {{"m1", 2}, {"absent", 6}, {"m2", 2}};
  farcache_request *request;
  farcache_result result;
  farcache_item item;
  WANT(end(set("m1", "one", NULL), NULL) == FARCACHE_STATUS_OK);
  WANT(end(set("m2", "two", NULL), NULL) == FARCACHE_STATUS_OK);
  WANT(farcache_get_many(client, keys, 3, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  WANT(farcache_request_result(request, &result) == FARCACHE_STATUS_OK && result.items == 3);
  WANT(farcache_result_item(request, 0, &item) == FARCACHE_STATUS_OK && item.status == FARCACHE_STATUS_OK);
  WANT(item.value_bytes == 3 && memcmp(item.value, "one", 3) == 0 && item.name == NULL);
  WANT(farcache_result_item(request, 1, &item) == FARCACHE_STATUS_OK && item.status == FARCACHE_STATUS_NOT_FOUND);
  WANT(farcache_result_item(request, 2, &item) == FARCACHE_STATUS_OK && item.status == FARCACHE_STATUS_OK);
  WANT(farcache_result_item(request, 3, &item) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_request_free(request);
}

/* Names do not change with a server's place in the list. Nothing is connected for them. */
static void server_names(const char *address) {
  farcache_client *several;
  char name[100];
  size_t server = 99;
  WANT(farcache_server_name(client, 0, name, sizeof(name)) == strlen(name) && strcmp(name, address) == 0);
  WANT(farcache_server_named(client, address, &server) == FARCACHE_STATUS_OK && server == 0);
  WANT(farcache_server_named(client, "nobody:1", &server) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(strstr(farcache_message(), "nobody:1") != NULL && server == 0);
  WANT(farcache_server_named(client, NULL, &server) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_server_name(client, 7, name, sizeof(name)) == 0 && *name == 0);
  WANT(farcache_client_new("first,[::1]:2,/run/third", NULL, &several) == FARCACHE_STATUS_OK);
  WANT(farcache_server_named(several, "first:11211", &server) == FARCACHE_STATUS_OK && server == 0);
  WANT(farcache_server_named(several, "[::1]:2", &server) == FARCACHE_STATUS_OK && server == 1);
  WANT(farcache_server_named(several, "/run/third", &server) == FARCACHE_STATUS_OK && server == 2);
  WANT(farcache_server_name(several, 2, name, 5) == 10 && strcmp(name, "/run") == 0);
  WANT(farcache_server_name(several, 2, NULL, 0) == 10);
  farcache_client_free(several);
}

static void servers(void) {
  farcache_request *request;
  farcache_result result;
  farcache_item item;
  size_t server = 99;
  WANT(farcache_servers(client) == 1);
  WANT(farcache_server_of_key(client, "k", 1, &server) == FARCACHE_STATUS_OK && server == 0);
  farcache_noop(client, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  farcache_noop(client, 7, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_server_version(client, 0, NULL, &request);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  farcache_request_result(request, &result);
  WANT(result.value_bytes > 2 && strlen(result.value) == result.value_bytes);
  farcache_request_free(request);
  farcache_statistics(client, 0, NULL, NULL, &request);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  farcache_request_result(request, &result);
  WANT(result.items > 30);
  WANT(farcache_result_item(request, 0, &item) == FARCACHE_STATUS_OK && strlen(item.name) > 0);
  WANT(strlen(item.value) == item.value_bytes);
  farcache_request_free(request);
  char lanes[4];
  size_t length = farcache_lanes(client, 0, lanes, sizeof(lanes));
  WANT(strlen(lanes) == (length < 3 ? length : 3));
  WANT(farcache_lanes(client, 7, NULL, 0) == 0);
  farcache_flush_server(client, 0, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_OK);
  WANT(holds("m1", NULL));
}

static void mistakes(void) {
  farcache_request *request;
  farcache_client *none;
  char key[300];
  memset(key, 'k', sizeof(key));
  farcache_get(client, key, sizeof(key), NULL, 0, NULL, &request);
  WANT(farcache_test(request) == FARCACHE_STATUS_INVALID_KEY);
  WANT(strstr(farcache_request_message(request), "250") != NULL);
  farcache_request_free(request);
  WANT(farcache_get(client, NULL, 5, NULL, 0, NULL, &request) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(request == NULL && strstr(farcache_message(), "null") != NULL);
  WANT(farcache_get(NULL, "k", 1, NULL, 0, NULL, &request) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_get(client, "k", 1, NULL, 0, NULL, NULL) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_wait(NULL) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_client_new("a:b:c", NULL, &none) == FARCACHE_STATUS_CONFIGURATION && none == NULL);
  WANT(strstr(farcache_message(), "a:b:c") != NULL);
  farcache_options *options = farcache_options_new();
  WANT(farcache_options_set(options, "colour", "red") == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_options_set(options, "timeout-ms", "soon") == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_options_set(options, "transport", "pigeon") == FARCACHE_STATUS_CONFIGURATION);
  WANT(farcache_options_set(options, "user", "u") == FARCACHE_STATUS_OK);
  WANT(farcache_client_new("a", options, &none) == FARCACHE_STATUS_CONFIGURATION);
  farcache_options_free(options);
  WANT(farcache_client_new("", NULL, &none) == FARCACHE_STATUS_OK);
  farcache_get(none, "k", 1, NULL, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_NO_SERVERS);
  farcache_client_free(none);
  WANT(farcache_client_new("127.0.0.1:1", NULL, &none) == FARCACHE_STATUS_OK);
  farcache_get(none, "k", 1, NULL, 0, NULL, &request);
  WANT(end(request, NULL) == FARCACHE_STATUS_CONNECT);
  farcache_client_free(none);
  setenv("FARCACHE_OPTIONS", "timeout-ms=soon", 1);
  WANT(farcache_client_new("a", NULL, &none) == FARCACHE_STATUS_INVALID_ARGUMENTS && none == NULL);
  WANT(strstr(farcache_message(), "soon") != NULL);
  setenv("FARCACHE_OPTIONS", "timeout-ms", 1);
  WANT(farcache_client_new("a", NULL, &none) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  setenv("FARCACHE_OPTIONS", " timeout-ms=500  spin-us=0 ", 1);
  WANT(farcache_client_new("a", NULL, &none) == FARCACHE_STATUS_OK);
  farcache_client_free(none);
  WANT(strcmp(farcache_status_text(FARCACHE_STATUS_BUSY), "busy") == 0);
  WANT(strcmp(farcache_status_text(99), "unknown status") == 0 && strlen(farcache_version()) >= 5);
  farcache_client_free(NULL);
  farcache_request_free(NULL);
  farcache_options_free(NULL);
}

int main(int count, char **arguments) {
  WANT(count == 2 && farcache_client_new(arguments[1], NULL, &client) == FARCACHE_STATUS_OK);
  storing();
  touching();
  counting();
  many();
  server_names(arguments[1]);
  servers();
  mistakes();
  farcache_client_free(client);
  printf("everything holds\n");
  return 0;
}
