/* What readers may see of each row: no version older than one whose update had ended, its deletion
   from the cache included, when they began; none whose update has not begun. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  _Atomic uint32_t *ended, *begun;
  size_t count;
} versions_st;

versions_st versions_create(size_t count);
void versions_free(versions_st *of);

/* The version of a row before anybody runs. */
void versions_start(versions_st *of, size_t row, uint32_t version);

/* Before the transaction that gives the row its next version. */
void versions_begin(versions_st *of, size_t row);

/* After it, and after the deletion. */
void versions_end(versions_st *of, size_t row, uint32_t version);

/* The oldest version that a reader who begins now may see. */
uint32_t versions_oldest(const versions_st *of, size_t row);

typedef enum { SEEN_RIGHT, SEEN_STALE, SEEN_WRONG } verdict_t;

/* What to think of a version that was seen by a reader that began with this oldest one. */
verdict_t versions_judge(const versions_st *of, size_t row, uint32_t oldest, uint32_t seen);
