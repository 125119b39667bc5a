/* The life of requests: testing, waiting, giving up, callbacks, registered memory: requests SERVER */
#include <farcache.h>

#include "want.h"

enum { WINDOW = 16, LARGE = 1000000 };

static farcache_client *client;

static farcache_request *get(const char *key, void *room, size_t room_bytes, const farcache_call *call) {
  farcache_request *request;
  WANT(farcache_get(client, key, strlen(key), room, room_bytes, call, &request) == FARCACHE_STATUS_OK);
  return request;
}

static void store(const char *key, const char *value, size_t value_bytes) {
  farcache_request *request;
  WANT(farcache_set(client, key, strlen(key), value, value_bytes, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  farcache_request_free(request);
}

static void testing(void) {
  farcache_request *request = get("small", NULL, 0, NULL);
  farcache_result result;
  farcache_status status;
  WANT(farcache_request_result(request, &result) == FARCACHE_STATUS_IN_PROGRESS && result.value == NULL);
  while ((status = farcache_test(request)) == FARCACHE_STATUS_IN_PROGRESS) {
  }
  WANT(status == FARCACHE_STATUS_OK && farcache_test(request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  WANT(farcache_request_result(request, &result) == FARCACHE_STATUS_OK && memcmp(result.value, "value", 5) == 0);
  farcache_request_free(request);
}

static void waiting_for_any(void) {
  farcache_request *requests[WINDOW];
  size_t index, ended = 0;
  for (int place = 0; place < WINDOW; place++) {
    requests[place] = place % 4 ? get("small", NULL, 0, NULL) : get("large", NULL, 0, NULL);
  }
  while (ended < WINDOW) {
    WANT(farcache_wait_any(requests, WINDOW, &index) == FARCACHE_STATUS_OK);
    WANT(requests[index] != NULL && farcache_test(requests[index]) == FARCACHE_STATUS_OK);
    farcache_request_free(requests[index]);
    requests[index] = NULL;
    ended++;
  }
  WANT(farcache_wait_any(requests, WINDOW, &index) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_slice key = {"small", 5};
  WANT(farcache_get_many(client, &key, 1, NULL, &requests[3]) == FARCACHE_STATUS_OK);
  requests[5] = get("small", NULL, 0, NULL);
  WANT(farcache_wait_any(requests, WINDOW, &index) == FARCACHE_STATUS_OK && (index == 3 || index == 5));
  farcache_request_free(requests[3]);
  farcache_request_free(requests[5]);
}

static void giving_up(void) {
  static char room[LARGE];
  farcache_slice key = {"large", 5};
  farcache_request *many;
  farcache_request_free(get("large", room, LARGE, NULL));
  memset(room, 'x', LARGE);
  farcache_request_free(get("large", NULL, 0, NULL));
  farcache_request_free(get("small", NULL, 0, NULL));
  WANT(farcache_get_many(client, &key, 1, NULL, &many) == FARCACHE_STATUS_OK);
  farcache_request_free(many);
  farcache_request *request = get("small", room, LARGE, NULL);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  for (int place = 5; place < LARGE; place++) {
    WANT(room[place] == 'x');
  }
  farcache_request_free(request);
  farcache_call call = FARCACHE_CALL_INIT;
  call.timeout_us = 1;
  request = get("small", NULL, 0, &call);
  farcache_status status = farcache_wait(request);
  WANT(status == FARCACHE_STATUS_OK || status == FARCACHE_STATUS_TIMEOUT);
  farcache_request_free(request);
}

static int called;

static void note(farcache_request *request, void *argument) {
  WANT(farcache_request_result(request, NULL) == FARCACHE_STATUS_OK && argument == &called);
  called++;
}

static void note_and_free(farcache_request *request, void *argument) {
  note(request, argument);
  farcache_request_free(request);
}

/* A callback that waits: no other is called within it. */
static void note_and_wait(farcache_request *request, void *argument) {
  note_and_free(request, argument);
  farcache_request *other = get("small", NULL, 0, NULL);
  int before = called;
  WANT(farcache_wait(other) == FARCACHE_STATUS_OK && called == before);
  farcache_request_free(other);
}

static void calling_back(void) {
  farcache_call call = FARCACHE_CALL_INIT;
  call.callback = note;
  call.argument = &called;
  farcache_request *request = get("small", NULL, 0, &call);
  WANT(called == 0 && farcache_wait(request) == FARCACHE_STATUS_OK && called == 1);
  WANT(farcache_test(request) == FARCACHE_STATUS_OK && called == 1);
  farcache_request_free(request);
  request = get("small", NULL, 0, &call);
  while (farcache_test(request) == FARCACHE_STATUS_IN_PROGRESS) {
  }
  WANT(called == 2);
  farcache_request_free(request);
  farcache_request *pair[2] = {get("small", NULL, 0, &call), NULL};
  size_t index;
  WANT(farcache_wait_any(pair, 2, &index) == FARCACHE_STATUS_OK && index == 0 && called == 3);
  farcache_request_free(pair[0]);
  farcache_request_free(get("large", NULL, 0, &call));
  call.callback = note_and_free;
  for (int place = 0; place < WINDOW; place++) {
    get("small", NULL, 0, &call);
  }
  call.callback = note_and_wait;
  get("small", NULL, 0, &call);
  get("small", NULL, 0, &call);
  while (called < 3 + WINDOW + 2) {
    WANT(farcache_progress(client) == FARCACHE_STATUS_OK);
  }
  WANT(called == 3 + WINDOW + 2);
  called = 0;
  call.callback = note_and_free;
  farcache_slice key = {"small", 5};
  WANT(farcache_get_many(client, &key, 1, &call, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK && called == 1);
}

static void registering(void) {
  char *memory = malloc(4 * LARGE);
  farcache_buffer *buffer;
  WANT(farcache_buffer_register(client, NULL, 10, &buffer) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_buffer_register(client, memory, 4 * LARGE, &buffer) == FARCACHE_STATUS_OK);
  for (int round = 0; round < 4; round++) {
    memset(memory, 'a' + round, LARGE);
    store("registered", memory, LARGE);
    farcache_request *request = get("registered", memory + LARGE, LARGE, NULL);
    WANT(farcache_buffer_free(buffer) == FARCACHE_STATUS_BUSY);
    WANT(farcache_wait(request) == FARCACHE_STATUS_OK && memcmp(memory, memory + LARGE, LARGE) == 0);
    farcache_request_free(request);
  }
  WANT(farcache_buffer_free(buffer) == FARCACHE_STATUS_OK && farcache_buffer_free(NULL) == FARCACHE_STATUS_OK);
  free(memory);
}

/* Requests and buffers outlive their client. */
static void outliving(char *server) {
  static char memory[100];
  farcache_buffer *buffer;
  WANT(farcache_client_new(server, NULL, &client) == FARCACHE_STATUS_OK);
  WANT(farcache_buffer_register(client, memory, sizeof(memory), &buffer) == FARCACHE_STATUS_OK);
  farcache_request *request = get("small", memory, sizeof(memory), NULL);
  farcache_client_free(client);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK && memcmp(memory, "value", 5) == 0);
  farcache_request_free(request);
  WANT(farcache_buffer_free(buffer) == FARCACHE_STATUS_OK);
}

int main(int count, char **arguments) {
  WANT(count == 2 && farcache_client_new(arguments[1], NULL, &client) == FARCACHE_STATUS_OK);
  static char large[LARGE];
  store("small", "value", 5);
  store("large", large, LARGE);
  testing();
  waiting_for_any();
  giving_up();
  calling_back();
  registering();
  farcache_client_free(client);
  outliving(arguments[1]);
  printf("everything holds\n");
  return 0;
}
