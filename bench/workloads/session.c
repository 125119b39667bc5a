#include "session.h"

void session_begin(session_st *of) {
  of->began_ns = now_ns();
}

void session_end(session_st *of) {
  of->took_ns = now_ns() - of->began_ns;
}

uint32_t session_random(session_st *of, uint32_t limit) {
  /* The high bits are the better ones. */
  return (uint32_t) ((random_next(&of->random) >> 32) * limit >> 32);
}

uint32_t session_between(session_st *of, uint32_t low, uint32_t high) {
  return low + session_random(of, high - low + 1);
}

void session_judge(session_st *of, size_t kind, size_t row, uint32_t oldest, uint32_t seen) {
  switch (versions_judge(&of->versions[kind], row, oldest, seen)) {
  case SEEN_RIGHT: break;
  case SEEN_STALE: of->stale++; break;
  case SEEN_WRONG: of->wrong++; break;
  }
}
