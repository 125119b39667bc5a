#include "versions.h"

#include "../c/common.h"

#include <stdatomic.h>
#include <stdlib.h>

versions_st versions_create(size_t count) {
  versions_st made = {.ended = calloc(count, sizeof *made.ended),
                      .begun = calloc(count, sizeof *made.begun),
                      .count = count};
  if (!made.ended || !made.begun)
    fail("no memory for the versions of %zu rows", count);
  return made;
}

void versions_free(versions_st *of) {
  free(of->ended);
  free(of->begun);
}

static void need_row(const versions_st *of, size_t row) {
  if (row >= of->count)
    fail("there is a row %zu where only %zu were expected; was it loaded otherwise?", row,
         of->count);
}

void versions_start(versions_st *of, size_t row, uint32_t version) {
  need_row(of, row);
  of->ended[row] = of->begun[row] = version;
}

void versions_begin(versions_st *of, size_t row) {
  need_row(of, row);
  atomic_fetch_add(&of->begun[row], 1);
}

void versions_end(versions_st *of, size_t row, uint32_t version) {
  uint32_t known = atomic_load(&of->ended[row]);
  while (known < version && !atomic_compare_exchange_weak(&of->ended[row], &known, version)) {
  }
}

uint32_t versions_oldest(const versions_st *of, size_t row) {
  need_row(of, row);
  return atomic_load(&of->ended[row]);
}

verdict_t versions_judge(const versions_st *of, size_t row, uint32_t oldest, uint32_t seen) {
  if (seen < oldest)
    return SEEN_STALE;
  return seen > atomic_load(&of->begun[row]) ? SEEN_WRONG : SEEN_RIGHT;
}
