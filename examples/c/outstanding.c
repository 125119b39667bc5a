/* Keeps many requests under way at once and takes them as they complete: outstanding SERVERS */
#include <farcache.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 32, ITEMS = 1000 };

static size_t name(char *key, int item) { return (size_t) sprintf(key, "item-%d", item); }

/* Begins the next operation of either kind: first every item is stored, then every item is got. */
static farcache_request *begin(farcache_client *client, int number) {
  char key[32];
  size_t key_bytes = name(key, number % ITEMS);
  farcache_request *request = NULL;
  if (number < ITEMS) {
    /* The key is its own value. As it is gone when this returns, it is copied. */
    farcache_call call = FARCACHE_CALL_INIT;
    call.copies_value = 1;
    farcache_set(client, key, key_bytes, key, key_bytes, 0, &call, &request);
  } else {
    farcache_get(client, key, key_bytes, NULL, 0, NULL, &request);
  }
  return request;
}

/* Carries out the operations from first to last, WINDOW at a time; how many ended well. */
static int carry_out(farcache_client *client, int first, int last) {
  farcache_request *window[WINDOW] = {NULL};
  int begun = first, well = 0, under_way = 0;
  for (int place = 0; place < WINDOW && begun < last; place++, under_way++) {
    window[place] = begin(client, begun++);
  }
  while (under_way > 0) {
    size_t place;
    if (farcache_wait_any(window, WINDOW, &place) != FARCACHE_STATUS_OK) {
      fprintf(stderr, "%s\n", farcache_message());
      break;
    }
    well += farcache_wait(window[place]) == FARCACHE_STATUS_OK;
    farcache_request_free(window[place]);
    window[place] = NULL;
    if (begun < last) {
      window[place] = begin(client, begun++);
    } else {
      under_way--;
    }
  }
  return well;
}

/* Gets all items with one request. */
static int get_all(farcache_client *client) {
  static char keys[ITEMS][32];
  static farcache_slice slices[ITEMS];
  for (int item = 0; item < ITEMS; item++) {
    slices[item].start = keys[item];
    slices[item].bytes = name(keys[item], item);
  }
  farcache_request *request;
  farcache_get_many(client, slices, ITEMS, NULL, &request);
  farcache_wait(request);
  int found = 0;
  for (size_t item = 0; item < ITEMS; item++) {
    farcache_item value;
    farcache_result_item(request, item, &value);
    found += value.status == FARCACHE_STATUS_OK && value.value_bytes == slices[item].bytes
             && memcmp(value.value, keys[item], value.value_bytes) == 0;
  }
  farcache_request_free(request);
  return found;
}

int main(int count, char **arguments) {
  farcache_client *client;
  if (farcache_client_new(count > 1 ? arguments[1] : "127.0.0.1:11211", NULL, &client) != FARCACHE_STATUS_OK) {
    fprintf(stderr, "%s\n", farcache_message());
    return 1;
  }
  int stored = carry_out(client, 0, ITEMS);
  int got = carry_out(client, ITEMS, 2 * ITEMS);
  int found = get_all(client);
  printf("%d stored, %d got, %d with one request\n", stored, got, found);
  farcache_client_free(client);
  return stored == ITEMS && got == ITEMS && found == ITEMS ? 0 : 1;
}
