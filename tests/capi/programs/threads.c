/* Many threads with one client, with and without a progress thread, waiting and being called back: threads SERVER */
#include <farcache.h>
#include <pthread.h>

#include "want.h"

enum { THREADS = 4, ROUNDS = 50 };

static farcache_client *client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int called;

static void note(farcache_request *request, void *argument) {
  (void) argument;
  WANT(farcache_request_result(request, NULL) == FARCACHE_STATUS_OK);
  pthread_mutex_lock(&lock);
  called++;
  pthread_mutex_unlock(&lock);
}

static void *work(void *argument) {
  char key[20], room[20];
  size_t key_bytes = (size_t) sprintf(key, "thread-%d", (int) (size_t) argument);
  farcache_call call = FARCACHE_CALL_INIT;
  call.callback = note;
  for (int round = 0; round < ROUNDS; round++) {
    farcache_request *requests[3];
    farcache_set(client, key, key_bytes, key, key_bytes, 0, NULL, &requests[0]);
    WANT(farcache_wait(requests[0]) == FARCACHE_STATUS_OK);
    farcache_request_free(requests[0]);
    farcache_get(client, key, key_bytes, room, sizeof(room), &call, &requests[0]);
    farcache_get(client, key, key_bytes, NULL, 0, &call, &requests[1]);
    farcache_noop(client, 0, NULL, &requests[2]);
    size_t index;
    WANT(farcache_wait_any(requests, 3, &index) == FARCACHE_STATUS_OK && index < 3);
    for (int place = 2; place >= 0; place--) {
      WANT(farcache_wait(requests[place]) == FARCACHE_STATUS_OK);
      farcache_request_free(requests[place]);
    }
    WANT(memcmp(room, key, key_bytes) == 0);
    /* Given up: called back or not, but not afterwards. */
    farcache_get(client, key, key_bytes, room, sizeof(room), NULL, &requests[0]);
    farcache_request_free(requests[0]);
    memset(room, 0, sizeof(room));
  }
  return NULL;
}

static void all_threads(const char *server, const char *progress_thread) {
  farcache_options *options = farcache_options_new();
  WANT(farcache_options_set(options, "progress-thread", progress_thread) == FARCACHE_STATUS_OK);
  WANT(farcache_client_new(server, options, &client) == FARCACHE_STATUS_OK);
  farcache_options_free(options);
  pthread_t threads[THREADS];
  called = 0;
  for (size_t number = 0; number < THREADS; number++) {
    WANT(pthread_create(&threads[number], NULL, work, (void *) number) == 0);
  }
  for (int number = 0; number < THREADS; number++) {
    pthread_join(threads[number], NULL);
  }
  WANT(called == THREADS * ROUNDS * 2);
  farcache_client_free(client);
}

int main(int count, char **arguments) {
  WANT(count == 2);
  all_threads(arguments[1], "off");
  all_threads(arguments[1], "on");
  printf("everything holds\n");
  return 0;
}
