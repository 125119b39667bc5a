/* Values on several servers by the option: redundant SERVERS POLICY. Says "ready" when they are stored, and reads them all whenever a
   line comes, after which servers may be gone. */
#include <farcache.h>

#include "want.h"

enum { VALUES = 16, ROOM_BYTES = 200 * 1000 };

static farcache_client *client;
static char room[ROOM_BYTES], value[ROOM_BYTES];

static size_t fill(int number) {
  size_t bytes = (size_t) number * number * 700;
  for (size_t at = 0; at < bytes; at++)
    value[at] = (char) (at * 31 + number);
  return bytes;
}

static int name(char *key, size_t key_bytes, int number) {
  return snprintf(key, key_bytes, "key-%d", number);
}

static farcache_status ended(farcache_request *request) {
  farcache_status status = farcache_wait(request);
  farcache_request_free(request);
  return status;
}

static void store_all(void) {
  for (int number = 0; number < VALUES; number++) {
    char key[16];
    int key_bytes = name(key, sizeof key, number);
    size_t bytes = fill(number);
    farcache_request *request;
    WANT(farcache_set(client, key, key_bytes, value, bytes, 0, NULL, &request) == FARCACHE_STATUS_OK);
    WANT(ended(request) == FARCACHE_STATUS_OK);
  }
}

static void read_one_by_one(void) {
  for (int number = 0; number < VALUES; number++) {
    char key[16];
    int key_bytes = name(key, sizeof key, number);
    size_t bytes = fill(number);
    farcache_request *request;
    farcache_result result;
    WANT(farcache_get(client, key, key_bytes, room, sizeof room, NULL, &request) == FARCACHE_STATUS_OK);
    WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
    WANT(farcache_request_result(request, &result) == FARCACHE_STATUS_OK);
    WANT(result.value_bytes == bytes && memcmp(room, value, bytes) == 0);
    farcache_request_free(request);
  }
}

static void read_together(void) {
  char texts[VALUES][16];
  farcache_slice keys[VALUES];
  for (int number = 0; number < VALUES; number++)
    keys[number] = (farcache_slice) {texts[number], name(texts[number], sizeof texts[number], number)};
  farcache_request *request;
  WANT(farcache_get_many(client, keys, VALUES, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  for (int number = 0; number < VALUES; number++) {
    farcache_item item;
    size_t bytes = fill(number);
    WANT(farcache_result_item(request, number, &item) == FARCACHE_STATUS_OK);
    WANT(item.value_bytes == bytes && memcmp(item.value, value, bytes) == 0);
  }
  farcache_request_free(request);
}

/* Operations that depend on what is there end as on a single server. */
static void changes(void) {
  farcache_request *request;
  WANT(farcache_add(client, "key-1", 5, "x", 1, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(ended(request) == FARCACHE_STATUS_EXISTS);
  WANT(farcache_add(client, "count", 5, "41", 2, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(ended(request) == FARCACHE_STATUS_OK);
  WANT(farcache_increment(client, "count", 5, 1, NULL, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  struct farcache_result result;
  WANT(farcache_request_result(request, &result) == FARCACHE_STATUS_OK && result.number == 42);
  farcache_request_free(request);
}

static void deletions(void) {
  farcache_request *request;
  WANT(farcache_set(client, "gone", 4, "x", 1, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(ended(request) == FARCACHE_STATUS_OK);
  WANT(farcache_delete(client, "gone", 4, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(ended(request) == FARCACHE_STATUS_OK);
  WANT(farcache_get(client, "gone", 4, NULL, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(ended(request) == FARCACHE_STATUS_NOT_FOUND);
}

int main(int count, char **arguments) {
  char line[16];
  WANT(count == 3);
  farcache_options *options = farcache_options_new();
  WANT(farcache_options_set(options, "redundancy", "raid:5") == FARCACHE_STATUS_CONFIGURATION);
  WANT(farcache_options_set(options, "redundancy", arguments[2]) == FARCACHE_STATUS_OK);
  WANT(farcache_client_new(arguments[1], options, &client) == FARCACHE_STATUS_OK);
  farcache_options_free(options);
  store_all();
  changes();
  deletions();
  do {
    read_one_by_one();
    read_together();
    printf("ready\n");
    fflush(stdout);
  } while (fgets(line, sizeof line, stdin));
  farcache_client_free(client);
  printf("everything holds\n");
  return 0;
}
