/* Is told by callbacks how requests end, while a thread of the library moves them: callbacks SERVERS */
#include <farcache.h>
#include <pthread.h>
#include <stdio.h>

enum { ITEMS = 100 };

/* What all callbacks share. They come from the progress thread, so it is locked. */
struct counts {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  farcache_client *client;
  int stored, got, ended;
};

static void count(struct counts *counts, int *what, int well) {
  pthread_mutex_lock(&counts->lock);
  *what += well;
  counts->ended++;
  pthread_cond_signal(&counts->changed);
  pthread_mutex_unlock(&counts->lock);
}

static void got(farcache_request *request, void *argument) {
  struct counts *counts = argument;
  farcache_result result;
  farcache_status status = farcache_request_result(request, &result);
  count(counts, &counts->got, status == FARCACHE_STATUS_OK && result.value_bytes == 5);
  farcache_request_free(request);
}

/* A callback may begin the next operation. */
static void stored(farcache_request *request, void *argument) {
  struct counts *counts = argument;
  farcache_status status = farcache_request_result(request, NULL);
  farcache_request_free(request);
  farcache_call call = FARCACHE_CALL_INIT;
  call.callback = got;
  call.argument = counts;
  farcache_request *next;
  farcache_get(counts->client, "called", 6, NULL, 0, &call, &next);
  count(counts, &counts->stored, status == FARCACHE_STATUS_OK);
}

int main(int count, char **arguments) {
  farcache_options *options = farcache_options_new();
  farcache_options_set(options, "progress-thread", "on");
  struct counts counts = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, 0};
  const char *servers = count > 1 ? arguments[1] : "127.0.0.1:11211";
  if (farcache_client_new(servers, options, &counts.client) != FARCACHE_STATUS_OK) {
    fprintf(stderr, "%s\n", farcache_message());
    return 1;
  }
  farcache_options_free(options);

  farcache_call call = FARCACHE_CALL_INIT;
  call.callback = stored;
  call.argument = &counts;
  for (int item = 0; item < ITEMS; item++) {
    farcache_request *request; /* Freed by its callback. */
    farcache_set(counts.client, "called", 6, "value", 5, 0, &call, &request);
  }

  pthread_mutex_lock(&counts.lock);
  while (counts.ended < 2 * ITEMS) {
    pthread_cond_wait(&counts.changed, &counts.lock);
  }
  pthread_mutex_unlock(&counts.lock);
  printf("%d stored, %d got\n", counts.stored, counts.got);
  farcache_client_free(counts.client);
  return counts.stored == ITEMS && counts.got == ITEMS ? 0 : 1;
}
