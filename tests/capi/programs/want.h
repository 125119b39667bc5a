/* For programs that end well only where everything is as it should be. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WANT(condition)                                              \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                       \
    }                                                                \
  } while (0)
