/* Stores a value and gets it back, one operation after the other: blocking SERVERS */
#include <farcache.h>
#include <stdio.h>
#include <string.h>

/* Waits for a request, says what became of it where that is not as wanted, and frees it. */
static int finish(const char *what, farcache_request *request) {
  farcache_status status = farcache_wait(request);
  if (status != FARCACHE_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", what, farcache_request_message(request));
  }
  farcache_request_free(request);
  return status == FARCACHE_STATUS_OK;
}

int main(int count, char **arguments) {
  farcache_client *client;
  const char *servers = count > 1 ? arguments[1] : "127.0.0.1:11211";
  if (farcache_client_new(servers, NULL, &client) != FARCACHE_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", servers, farcache_message());
    return 1;
  }

  /* The value is lent to the library until the request is complete, so waiting for it is all there is to do. */
  farcache_request *request;
  farcache_set(client, "greeting", 8, "hello", 5, 60, NULL, &request);
  int well = finish("set", request);

  /* Without room of our own, the value is in the library's memory until the request is freed. */
  farcache_get(client, "greeting", 8, NULL, 0, NULL, &request);
  farcache_result result;
  if (farcache_wait(request) == FARCACHE_STATUS_OK) {
    farcache_request_result(request, &result);
    printf("greeting: %.*s\n", (int) result.value_bytes, (const char *) result.value);
  } else {
    well = 0;
  }
  farcache_request_free(request);

  char room[4];
  farcache_get(client, "greeting", 8, room, sizeof(room), NULL, &request);
  if (farcache_wait(request) == FARCACHE_STATUS_BUFFER_TOO_SMALL) {
    farcache_request_result(request, &result);
    printf("4 bytes are too few for %zu\n", result.value_bytes);
  }
  farcache_request_free(request);

  farcache_delete(client, "greeting", 8, NULL, &request);
  well &= finish("delete", request);
  farcache_get(client, "greeting", 8, NULL, 0, NULL, &request);
  printf("afterwards: %s\n", farcache_status_text(farcache_wait(request)));
  farcache_request_free(request);

  farcache_client_free(client);
  return well ? 0 : 1;
}
