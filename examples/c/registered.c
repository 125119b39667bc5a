/* Moves large values from and into memory that is registered once: registered SERVERS */
#include <farcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, BLOCK_BYTES = 1 << 20 };

static size_t name(char *key, int block) { return (size_t) sprintf(key, "block-%d", block); }

/* Waits for all and frees them; how many ended well. */
static int finish(farcache_request **requests) {
  int well = 0;
  for (int block = 0; block < BLOCKS; block++) {
    well += farcache_wait(requests[block]) == FARCACHE_STATUS_OK;
    farcache_request_free(requests[block]);
  }
  return well;
}

int main(int count, char **arguments) {
  farcache_client *client;
  if (farcache_client_new(count > 1 ? arguments[1] : "127.0.0.1:11211", NULL, &client) != FARCACHE_STATUS_OK) {
    fprintf(stderr, "%s\n", farcache_message());
    return 1;
  }

  /* One half to send from, one to receive into. The memory stays ours; values that lie in it use the registration. */
  unsigned char *memory = aligned_alloc(4096, 2 * BLOCKS * BLOCK_BYTES);
  unsigned char *received = memory + BLOCKS * BLOCK_BYTES;
  farcache_buffer *buffer;
  if (memory == NULL
      || farcache_buffer_register(client, memory, 2 * BLOCKS * BLOCK_BYTES, &buffer) != FARCACHE_STATUS_OK) {
    fprintf(stderr, "%s\n", farcache_message());
    return 1;
  }

  farcache_request *requests[BLOCKS];
  char key[32];
  for (int block = 0; block < BLOCKS; block++) {
    unsigned char *value = memory + block * BLOCK_BYTES;
    memset(value, 'a' + block, BLOCK_BYTES - 100);
    farcache_set(client, key, name(key, block), value, BLOCK_BYTES - 100, 0, NULL, &requests[block]);
  }
  int stored = finish(requests);

  for (int block = 0; block < BLOCKS; block++) {
    unsigned char *room = received + block * BLOCK_BYTES;
    farcache_get(client, key, name(key, block), room, BLOCK_BYTES, NULL, &requests[block]);
  }
  int got = finish(requests);

  int same = 0;
  for (int block = 0; block < BLOCKS; block++) {
    size_t start = (size_t) block * BLOCK_BYTES;
    same += memcmp(memory + start, received + start, BLOCK_BYTES - 100) == 0;
  }
  printf("%d stored, %d got, %d are the same\n", stored, got, same);

  /* Refused while a request still uses it. */
  int ended = farcache_buffer_free(buffer) == FARCACHE_STATUS_OK;
  farcache_client_free(client);
  free(memory);
  return stored == BLOCKS && got == BLOCKS && same == BLOCKS && ended ? 0 : 1;
}
