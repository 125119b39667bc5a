/* What the programs say, they say to standard output: it is compared between the libraries. */
#pragma once

#include <stdio.h>
#include <string.h>

#define SHOW(...) printf(__VA_ARGS__)

static inline void show_bytes(const char *title, const void *bytes, size_t length) {
  printf("%s %zu:", title, length);
  for (size_t at = 0; at < length; at++) {
    printf(" %02x", ((const unsigned char *) bytes)[at]);
  }
  printf("\n");
}
