// libmemcached's C++ interface with our header in front, and the non-blocking operations from C++: plusplus HOST PORT
#include <libmemcached-1.0/memcached.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "patience.h"

#define WANT(condition)                                                   \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("line %d: %s does not hold\n", __LINE__, #condition); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)

int main(int count, char **arguments) {
  WANT(count == 3);
  const in_port_t port = static_cast<in_port_t>(std::atoi(arguments[2]));
  memcache::Memcache client(arguments[1], port);
  if (const char *limit = std::getenv("PATIENCE_MS")) {
    WANT(client.setBehavior(MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, std::strtoul(limit, nullptr, 10)));
    WANT(client.setBehavior(MEMCACHED_BEHAVIOR_POLL_TIMEOUT, std::strtoul(limit, nullptr, 10)));
  }
  const std::string key = "plus", text = "C++";
  const std::vector<char> value(text.begin(), text.end());
  WANT(client.set(key, value, 0, 5));
  std::vector<char> got;
  WANT(client.get(key, got) && got == value);
  WANT(client.remove(key) && !client.get(key, got));

  memcached_st *handle = memcached_create(nullptr);
  be_patient(handle);
  memcached_server_add(handle, arguments[1], port);
  std::string room(100, '\0'), lent = "lent";
  memcached_request_st *set = memcached_request_create(handle, &lent[0], lent.size(), 0);
  memcached_request_st *get = memcached_request_create(handle, &room[0], room.size(), 0);
  WANT(memcached_iset(handle, key.data(), key.size(), set, 0, 9) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(handle, set) == MEMCACHED_SUCCESS);
  WANT(memcached_iget(handle, key.data(), key.size(), get) == MEMCACHED_SUCCESS);
  memcached_return_t code;
  while ((code = memcached_test(handle, get)) == MEMCACHED_IN_PROGRESS) {
  }
  WANT(code == MEMCACHED_SUCCESS && get->flags == 9 && room.substr(0, get->value_length) == lent);
  memcached_request_free(handle, get);
  memcached_request_free(handle, set);
  memcached_free(handle);
  std::printf("everything holds\n");
  return 0;
}
