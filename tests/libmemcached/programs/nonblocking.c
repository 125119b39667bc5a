/* The non-blocking operations: nonblocking HOST PORT. Ends well only where everything is as it should be. */
#include <libmemcached/memcached.h>

#include "patience.h"
#include "show.h"

#define WANT(condition)                                             \
  do {                                                              \
    if (!(condition)) {                                             \
      SHOW("line %d: %s does not hold\n", __LINE__, #condition);    \
      return 1;                                                     \
    }                                                               \
  } while (0)

enum { WINDOW = 32, LARGE = 1 << 20 };

static int one_after_another(memcached_st *memc) {
  char value[] = "value", room[4] = "abc", enough[100];
  memcached_request_st *set = memcached_request_create(memc, value, 5, 0);
  WANT(memcached_bset(memc, "k", 1, set, 0, 7) == MEMCACHED_SUCCESS);
  memset(value, 'x', 5);
  WANT(memcached_wait(memc, set) == MEMCACHED_SUCCESS);
  WANT(set->response == MEMCACHED_SUCCESS && set->cmp_cntr == 1);
  memcached_request_st *get = memcached_request_create(memc, NULL, 0, 0);
  WANT(memcached_iget(memc, "k", 1, get) == MEMCACHED_SUCCESS);
  memcached_return_t rc;
  while ((rc = memcached_test(memc, get)) == MEMCACHED_IN_PROGRESS) {
  }
  WANT(rc == MEMCACHED_SUCCESS && get->value_length == 5 && get->flags == 7);
  WANT(memcmp(get->value, "value", 5) == 0);
  free(get->value);
  WANT(memcached_bget(memc, "absent", 6, get) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, get) == MEMCACHED_NOTFOUND && get->value == NULL);
  memcached_request_free(memc, get);
  get = memcached_request_create(memc, room, 3, 0);
  WANT(memcached_iget(memc, "k", 1, get) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, get) == MEMCACHED_E2BIG && get->value_length == 5);
  WANT(memcmp(room, "abc", 4) == 0);
  memcached_request_free(memc, get);
  get = memcached_request_create(memc, enough, sizeof(enough), 0);
  WANT(memcached_iget(memc, "k", 1, get) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, get) == MEMCACHED_SUCCESS && get->value_length == 5);
  WANT(memcmp(enough, "value", 5) == 0);
  WANT(memcached_iget(memc, "", 0, get) == MEMCACHED_BAD_KEY_PROVIDED);
  WANT(memcached_test(memc, get) == MEMCACHED_BAD_KEY_PROVIDED);
  WANT(memcached_wait(memc, NULL) == MEMCACHED_INVALID_ARGUMENTS);
  memcached_request_free(memc, get);
  memcached_request_free(memc, set);
  return 0;
}

/* As programs for RDMA-Memcached 0.9.6 do it: room of the caller's, and no length. */
static int without_a_length(memcached_st *memc) {
  static char large[LARGE], room[LARGE];
  memset(large, 'l', sizeof(large) - 1000);
  memcached_request_st *set = memcached_request_create(memc, large, sizeof(large) - 1000, 0);
  WANT(memcached_iset(memc, "large", 5, set, 0, 3) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, set) == MEMCACHED_SUCCESS);
  memcached_request_free(memc, set);
  memcached_request_st *get = memcached_request_create(memc, room, 0, 0);
  WANT(memcached_iget(memc, "large", 5, get) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, get) == MEMCACHED_SUCCESS);
  WANT(get->value == room && get->value_length == sizeof(large) - 1000 && get->flags == 3);
  WANT(memcmp(room, large, sizeof(room)) == 0);
  WANT(memcached_bget(memc, "k", 1, get) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, get) == MEMCACHED_SUCCESS);
  WANT(get->value == room && get->value_length == 5 && memcmp(room, "valuelll", 8) == 0);
  memcached_request_free(memc, get);
  /* A value of no bytes is stored in the same way. */
  set = memcached_request_create(memc, room, 0, 0);
  WANT(memcached_iset(memc, "nothing", 7, set, 0, 0) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, set) == MEMCACHED_SUCCESS);
  memcached_request_free(memc, set);
  get = memcached_request_create(memc, room, 0, 0);
  WANT(memcached_iget(memc, "nothing", 7, get) == MEMCACHED_SUCCESS);
  WANT(memcached_wait(memc, get) == MEMCACHED_SUCCESS && get->value_length == 0);
  memcached_request_free(memc, get);
  return 0;
}

static int many_at_once(memcached_st *memc) {
  static char values[WINDOW][LARGE], got[WINDOW][LARGE];
  memcached_request_st *requests[WINDOW];
  char key[20];
  for (int at = 0; at < WINDOW; at++) {
    memset(values[at], 'a' + at % 26, LARGE - 4096);
    requests[at] = memcached_request_create(memc, values[at], at % 2 ? LARGE - 4096 : 64, 0);
    WANT(memcached_iset(memc, key, (size_t) sprintf(key, "many-%d", at), requests[at], 0, at) == MEMCACHED_SUCCESS);
  }
  for (int at = 0; at < WINDOW; at++) {
    WANT(memcached_wait(memc, requests[at]) == MEMCACHED_SUCCESS);
    memcached_request_free(memc, requests[at]);
    requests[at] = memcached_request_create(memc, got[at], LARGE, 0);
    WANT(memcached_iget(memc, key, (size_t) sprintf(key, "many-%d", at), requests[at]) == MEMCACHED_SUCCESS);
  }
  for (int at = WINDOW - 1; at >= 0; at--) {
    WANT(memcached_wait(memc, requests[at]) == MEMCACHED_SUCCESS);
    WANT(requests[at]->flags == (uint32_t) at);
    WANT(requests[at]->value_length == (size_t) (at % 2 ? LARGE - 4096 : 64));
    WANT(memcmp(got[at], values[at], requests[at]->value_length) == 0);
    memcached_request_free(memc, requests[at]);
  }
  return 0;
}

int main(int count, char **arguments) {
  (void) count;
  memcached_st *memc = memcached_create(NULL);
  be_patient(memc);
  memcached_server_add(memc, arguments[1], (in_port_t) atoi(arguments[2]));
  if (getenv("META_COMMANDS"))
    WANT(memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_META_PROTOCOL, 1) == MEMCACHED_SUCCESS);
  if (one_after_another(memc) || without_a_length(memc) || many_at_once(memc)) {
    return 1;
  }
  static char room[LARGE];
  memcached_request_st *given_up = memcached_request_create(memc, room, LARGE, 0);
  WANT(memcached_iget(memc, "many-1", 6, given_up) == MEMCACHED_SUCCESS);
  memcached_request_free(memc, given_up);
  memcached_request_st *survivor = memcached_request_create(memc, NULL, 0, 0);
  WANT(memcached_iget(memc, "k", 1, survivor) == MEMCACHED_SUCCESS);
  memcached_free(memc);
  WANT(memcached_wait(NULL, survivor) == MEMCACHED_SUCCESS && survivor->value_length == 5);
  free(survivor->value);
  memcached_request_free(NULL, survivor);
  SHOW("everything holds\n");
  return 0;
}
