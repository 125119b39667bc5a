/* Servers that want a name and a password: authenticated HOST PORT NAME PASSWORD. */
#include <libmemcached/memcached.h>
#include <libmemcached/util.h>
#include <sasl/sasl.h>

#include "show.h"

#define LENGTH(text) (text), strlen(text)

static const char *host, *name, *password;
static in_port_t port;

static memcached_st *connect_to_it(bool binary) {
  memcached_st *memc = memcached_create(NULL);
  memcached_behavior_set(memc, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, binary);
  memcached_server_add(memc, host, port);
  return memc;
}

static void use(const char *title, memcached_st *memc) {
  memcached_return_t stored = memcached_set(memc, LENGTH("secret"), LENGTH("value"), 0, 3);
  SHOW("%s: set %d", title, stored);
  size_t length = 0;
  uint32_t flags = 0;
  memcached_return_t rc;
  char *value = memcached_get(memc, LENGTH("secret"), &length, &flags, &rc);
  SHOW(" get %d '%.*s' %u\n", rc, (int) length, value ? value : "", flags);
  free(value);
}

static int give_name(void *context, int id, const char **result, unsigned *length) {
  (void) context;
  if (id != SASL_CB_USER && id != SASL_CB_AUTHNAME)
    return SASL_BADPARAM;
  *result = name;
  if (length)
    *length = (unsigned) strlen(name);
  return SASL_OK;
}

static int give_password(sasl_conn_t *connection, void *context, int id, sasl_secret_t **result) {
  static union {
    sasl_secret_t secret;
    char room[sizeof(sasl_secret_t) + 256];
  } kept;
  (void) connection;
  (void) context;
  if (id != SASL_CB_PASS)
    return SASL_BADPARAM;
  kept.secret.len = strlen(password);
  memcpy(kept.secret.data, password, kept.secret.len + 1);
  *result = &kept.secret;
  return SASL_OK;
}

typedef int (*function_t)(void);

static void by_functions(void) {
  static sasl_callback_t functions[] = {{SASL_CB_USER, (function_t) give_name, NULL},
                                        {SASL_CB_AUTHNAME, (function_t) give_name, NULL},
                                        {SASL_CB_PASS, (function_t) give_password, NULL},
                                        {SASL_CB_LIST_END, NULL, NULL}};
  memcached_st *memc = connect_to_it(true);
  memcached_set_sasl_callbacks(memc, functions);
  SHOW("kept %d\n", memcached_get_sasl_callbacks(memc) == functions);
  use("functions", memc);
  memcached_free(memc);
}

static void by_data(void) {
  memcached_st *memc = connect_to_it(true);
  SHOW("data %d\n", memcached_set_sasl_auth_data(memc, name, password));
  use("data", memc);
  memcached_quit(memc);
  use("after quit", memc);
  /* With functions, libmemcached 1.1.4 crashes here. */
  memcached_st *copy = memcached_clone(NULL, memc);
  use("copy", copy);
  memcached_free(copy);
  SHOW("forget %d\n", memcached_destroy_sasl_auth_data(memc));
  memcached_free(memc);
}

static void questions(void) {
  memcached_return_t rc;
  SHOW("ping %d", libmemcached_util_ping2(host, port, name, password, &rc));
  SHOW(" %d\n", rc);
  SHOW("pid %d", libmemcached_util_getpid2(host, port, name, password, &rc) > 0);
  SHOW(" %d\n", rc);
}

static void refused(void) {
  memcached_st *memc = connect_to_it(true);
  memcached_set_sasl_auth_data(memc, name, "wrong");
  memcached_return_t rc = memcached_set(memc, LENGTH("secret"), LENGTH("value"), 0, 0);
  SHOW("wrong %d\n", memcached_failed(rc));
  memcached_free(memc);
  memc = connect_to_it(true);
  rc = memcached_set(memc, LENGTH("secret"), LENGTH("value"), 0, 0);
  SHOW("nobody %d\n", memcached_failed(rc));
  memcached_free(memc);
}

int main(int count, char **arguments) {
  if (count < 5)
    return 1;
  host = arguments[1];
  port = (in_port_t) atoi(arguments[2]);
  name = arguments[3];
  password = arguments[4];
  if (sasl_client_init(NULL) != SASL_OK)
    return 1;
  by_data();
  by_functions();
  questions();
  refused();
  sasl_done();
  return 0;
}
