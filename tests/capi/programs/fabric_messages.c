/* How many messages have come to a server over the fabric, asked by a socket: fabric_messages SERVER */
#include <farcache.h>

#include "want.h"

int main(int count, char **arguments) {
  farcache_client *client;
  WANT(count == 2 && farcache_client_new(arguments[1], NULL, &client) == FARCACHE_STATUS_OK);
  farcache_request *request;
  farcache_statistics(client, 0, "fabric", NULL, &request);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  farcache_result result;
  farcache_request_result(request, &result);
  for (size_t index = 0; index < result.items; index++) {
    farcache_item item;
    WANT(farcache_result_item(request, index, &item) == FARCACHE_STATUS_OK);
    if (strcmp(item.name, "messages_in") == 0) {
      printf("%s\n", (const char *) item.value);
    }
  }
  farcache_request_free(request);
  farcache_client_free(client);
  return 0;
}
