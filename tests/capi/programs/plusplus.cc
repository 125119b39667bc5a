// The header in C++: plusplus SERVER
#include <farcache.h>

#include <memory>
#include <string>
#include <vector>

#include "want.h"

struct Free {
  void operator()(farcache_client *client) const { farcache_client_free(client); }
  void operator()(farcache_request *request) const { farcache_request_free(request); }
};

using Client = std::unique_ptr<farcache_client, Free>;
using Request = std::unique_ptr<farcache_request, Free>;

static Request set(const Client &client, const std::string &key, const std::string &value) {
  farcache_request *request = nullptr;
  farcache_call call = FARCACHE_CALL_INIT;
  call.copies_value = 1;
  farcache_set(client.get(), key.data(), key.size(), value.data(), value.size(), 0, &call, &request);
  return Request(request);
}

int main(int count, char **arguments) {
  farcache_client *made = nullptr;
  WANT(count == 2 && farcache_client_new(arguments[1], nullptr, &made) == FARCACHE_STATUS_OK);
  Client client(made);
  std::vector<Request> requests;
  for (int number = 0; number < 100; number++) {
    requests.push_back(set(client, "plus-" + std::to_string(number), std::to_string(number)));
  }
  for (const Request &request : requests) {
    WANT(farcache_wait(request.get()) == FARCACHE_STATUS_OK);
  }
  int calls = 0;
  farcache_call call = FARCACHE_CALL_INIT;
  call.callback = [](farcache_request *, void *argument) { ++*static_cast<int *>(argument); };
  call.argument = &calls;
  farcache_request *request = nullptr;
  farcache_get(client.get(), "plus-42", 7, nullptr, 0, &call, &request);
  Request get(request);
  WANT(farcache_wait(get.get()) == FARCACHE_STATUS_OK && calls == 1);
  farcache_result result;
  farcache_request_result(get.get(), &result);
  WANT(std::string(static_cast<const char *>(result.value), result.value_bytes) == "42");
  printf("everything holds\n");
  return 0;
}
