/* What the C benchmarks share: time, latencies, keys, options, servers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libmemcached/memcached.h>

/* Ends the program with a message. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program unless a call of libmemcached succeeded, and says what to do about it. */
void check(memcached_st *memc, memcached_return_t outcome, const char *what);

/* The same of storing so large a value. */
void check_stored(memcached_st *memc, memcached_return_t outcome, size_t bytes);

/* Ends the program if words are left behind the options. */
void refuse_words(int count, char **words);

/* Nanoseconds since an arbitrary moment. */
uint64_t now_ns(void);

/* Runs this thread, and what it starts afterwards, on one core only; a negative number means any. */
void pin(int cpu);

/* A size with a unit: 64, 4K, 1M, 2G. */
size_t parse_size(const char *text);

/* The number of a core. */
int parse_core(const char *text);

/* A number from 1 on. */
uint64_t parse_count(const char *text, const char *option);

/* Ends the program where the libmemcached that the loader has found is not Farcache's: another has no non-blocking calls. */
void need_farcache(void);

/* A handle for servers written as host:port with commas between; "binary" chooses the protocol of libmemcached. */
memcached_st *connect_to(const char *servers, bool binary);

/* Latencies, kept one by one. */
typedef struct {
  uint64_t *ns;
  size_t count, room;
} latencies_st;

latencies_st latencies_create(size_t room);
void latencies_add(latencies_st *of, uint64_t ns);
void latencies_free(latencies_st *of);

/* What they come to, in microseconds. */
typedef struct {
  double mean, p50, p99, p999, max;
} summary_st;

/* Sorts them. */
summary_st latencies_summary(latencies_st *of);

/* Pseudo-random numbers (xorshift64*, Vigna 2016), the same in each run. */
typedef struct {
  uint64_t state;
} random_st;

uint64_t random_next(random_st *of);

/* Which of the keys is next: each as likely, or by Zipf's law with an exponent of 0.99, where rank and number differ. */
typedef struct {
  random_st random;
  size_t count;
  double *shares; /* of the ranks up to each; NULL where each key is as likely */
} keys_st;

keys_st keys_create(size_t count, bool zipf);
size_t keys_next(keys_st *of);
void keys_free(keys_st *of);

/* Writes the key with this number: 16 characters. */
enum { KEY_BYTES = 16 };
void write_key(char *key, size_t number);

/* Fills a value so that it tells its number, and looks whether it does. */
void fill_value(char *value, size_t bytes, size_t number);
bool is_value(const char *value, size_t bytes, size_t number);
