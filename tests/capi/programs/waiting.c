/* A wait for a request ends after its callback, whoever is in that: waiting SERVER */
#include <farcache.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "want.h"

enum { LATE_US = 50 * 1000 };

static farcache_client *client;
static sem_t entered, released;
static atomic_bool is_waiting, has_left;

/* Stays inside until it is released. */
static void stay(farcache_request *request, void *argument) {
  (void) argument;
  WANT(farcache_test(request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  sem_post(&entered);
  sem_wait(&released);
  has_left = true;
}

/* Releases the callback when the other thread has had time to come back from its wait too early. */
static void *release(void *argument) {
  (void) argument;
  while (!is_waiting)
    usleep(100);
  usleep(LATE_US);
  sem_post(&released);
  return NULL;
}

/* The progress thread is inside of the callback while this thread waits. */
static void wait_for(farcache_status (*wait)(farcache_request *)) {
  farcache_call call = FARCACHE_CALL_INIT;
  call.callback = stay;
  is_waiting = has_left = false;
  pthread_t releaser;
  WANT(pthread_create(&releaser, NULL, release, NULL) == 0);
  farcache_request *request;
  WANT(farcache_set(client, "key", 3, "value", 5, 0, &call, &request) == FARCACHE_STATUS_OK);
  sem_wait(&entered);
  WANT(farcache_test(request) == FARCACHE_STATUS_IN_PROGRESS);
  is_waiting = true;
  WANT(wait(request) == FARCACHE_STATUS_OK);
  WANT(has_left);
  WANT(farcache_test(request) == FARCACHE_STATUS_OK);
  farcache_request_free(request);
  pthread_join(releaser, NULL);
}

static farcache_status wait_any(farcache_request *request) {
  size_t index = 9;
  farcache_status status = farcache_wait_any(&request, 1, &index);
  WANT(index == 0);
  return status;
}

int main(int count, char **arguments) {
  WANT(count == 2);
  WANT(sem_init(&entered, 0, 0) == 0 && sem_init(&released, 0, 0) == 0);
  farcache_options *options = farcache_options_new();
  WANT(farcache_options_set(options, "progress-thread", "on") == FARCACHE_STATUS_OK);
  WANT(farcache_client_new(arguments[1], options, &client) == FARCACHE_STATUS_OK);
  farcache_options_free(options);
  wait_for(farcache_wait);
  wait_for(wait_any);
  farcache_client_free(client);
  printf("everything holds\n");
  return 0;
}
