/* libhashkit: every function, with results that do not depend on where things lie in memory. */
#include <libhashkit/hashkit.h>

#include "show.h"

static uint32_t sum(const char *key, size_t key_length, void *context) {
  uint32_t total = *(uint32_t *) context;
  for (size_t at = 0; at < key_length; at++) {
    total += (unsigned char) key[at];
  }
  return total;
}

static void algorithms(void) {
  static uint32_t (*const functions[])(const char *, size_t) = {
      libhashkit_one_at_a_time, libhashkit_md5,     libhashkit_crc32,   libhashkit_fnv1_64,
      libhashkit_fnv1a_64,      libhashkit_fnv1_32, libhashkit_fnv1a_32, libhashkit_hsieh,
      libhashkit_murmur,        libhashkit_jenkins, libhashkit_murmur3};
  static const char *const keys[] = {"a", "key", "foobar", "\xff\xfe\x80", "0123456789abcdef0123456789abcdefX"};
  for (unsigned algorithm = 0; algorithm <= HASHKIT_HASH_MAX + 1; algorithm++) {
    SHOW("%u %s has %d\n", algorithm, libhashkit_string_hash(algorithm), libhashkit_has_algorithm(algorithm));
    for (unsigned key = 0; key < sizeof(keys) / sizeof(*keys); key++) {
      size_t length = strlen(keys[key]);
      SHOW("  digest %08x", libhashkit_digest(keys[key], length, algorithm));
      if (algorithm < sizeof(functions) / sizeof(*functions)) {
        SHOW(" function %08x", functions[algorithm](keys[key], length));
      }
      SHOW("\n");
    }
  }
  unsigned char signature[16];
  libhashkit_md5_signature((const unsigned char *) "foobar", 6, signature);
  show_bytes("signature", signature, sizeof(signature));
}

static void show_kit(const char *title, const hashkit_st *kit) {
  SHOW("%s: base %d distribution %d digest %08x same %d allocated %d\n", title, hashkit_get_function(kit),
       hashkit_get_distribution_function(kit), hashkit_digest(kit, "key", 3), kit->flags.is_base_same_distributed,
       kit->options.is_allocated);
}

static void kits(void) {
  hashkit_st kit, *made = hashkit_create(NULL);
  SHOW("in place %d\n", hashkit_create(&kit) == &kit);
  show_kit("new", &kit);
  show_kit("made", made);
  SHOW("compare %d %d %d\n", hashkit_compare(&kit, made), hashkit_compare(NULL, made), hashkit_compare(&kit, NULL));
  for (unsigned algorithm = 0; algorithm <= HASHKIT_HASH_MAX; algorithm++) {
    hashkit_return_t base = hashkit_set_function(&kit, algorithm);
    hashkit_return_t other = hashkit_set_distribution_function(&kit, HASHKIT_HASH_MAX - algorithm);
    SHOW("set %u: %s, %s, like made %d\n", algorithm, hashkit_strerror(&kit, base), hashkit_strerror(NULL, other),
         hashkit_compare(&kit, made));
    show_kit("  now", &kit);
  }
  uint32_t start = 7;
  SHOW("custom %d %d\n", hashkit_set_custom_function(&kit, sum, &start), hashkit_set_custom_function(&kit, NULL, NULL));
  SHOW("custom %d %d\n", hashkit_set_custom_distribution_function(&kit, sum, &start),
       hashkit_set_custom_distribution_function(&kit, NULL, NULL));
  SHOW("of nothing %d %d %d %d\n", hashkit_get_function(NULL), hashkit_get_distribution_function(NULL),
       hashkit_set_custom_function(NULL, sum, NULL), hashkit_set_custom_distribution_function(NULL, sum, NULL));
  show_kit("custom", &kit);
  hashkit_st *copy = hashkit_clone(NULL, &kit), *of_nothing = hashkit_clone(NULL, NULL);
  show_kit("copy", copy);
  show_kit("of nothing", of_nothing);
  SHOW("compare %d %d\n", hashkit_compare(&kit, copy), hashkit_compare(of_nothing, made));
  for (unsigned code = 0; code <= HASHKIT_MAXIMUM_RETURN + 1; code++) {
    SHOW("%u %s\n", code, hashkit_strerror(NULL, code));
  }
  hashkit_free(copy);
  hashkit_free(of_nothing);
  hashkit_free(made);
  hashkit_free(&kit);
}

static void cipher(const char *key, size_t key_length) {
  static const char text[] = "the text that is to be hidden, of several blocks' length";
  hashkit_st kit;
  memset(&kit, 0, sizeof(kit));
  hashkit_create(&kit);
  SHOW("key %d\n", hashkit_key(&kit, key, key_length));
  for (size_t length = 0; length <= sizeof(text); length += 8) {
    hashkit_string_st *hidden = hashkit_encrypt(&kit, text, length);
    show_bytes("hidden", hashkit_string_c_str(hidden), hashkit_string_length(hidden));
    hashkit_string_st *plain =
        hashkit_decrypt(&kit, hashkit_string_c_str(hidden), hashkit_string_length(hidden));
    show_bytes("plain", hashkit_string_c_str(plain), hashkit_string_length(plain));
    hashkit_string_free(plain);
    hashkit_string_free(hidden);
  }
  SHOW("nonsense %d %d %d\n", hashkit_decrypt(&kit, "0123456789abcdef", 16) == NULL,
       hashkit_decrypt(&kit, "0123456789abcde", 15) == NULL, hashkit_decrypt(&kit, "", 0) == NULL);
  hashkit_free(&kit);
}

int main(void) {
  algorithms();
  kits();
  cipher("a key of exactly thirty-two byte", 32);
  cipher("a key that is longer than the thirty-two bytes which count", 58);
  return 0;
}
