/* Files as chunks: blobs SERVER */
#include <farcache.h>

#include "want.h"

enum { BYTES = 250001 };

static farcache_client *client;
static farcache_blobs *blobs;
static unsigned char content[BYTES], room[BYTES + 1];

static farcache_status write_blob(const char *name, size_t piece_bytes) {
  farcache_blob_writer *writer;
  WANT(farcache_blob_create(blobs, name, &writer) == FARCACHE_STATUS_OK);
  for (size_t place = 0; place < BYTES; place += piece_bytes) {
    size_t bytes = BYTES - place < piece_bytes ? BYTES - place : piece_bytes;
    WANT(farcache_blob_write(writer, content + place, bytes) == FARCACHE_STATUS_OK);
  }
  WANT(farcache_blob_flush(writer) == FARCACHE_STATUS_OK);
  farcache_status status = farcache_blob_close(writer);
  WANT(farcache_blob_close(writer) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_blob_write(writer, "x", 1) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_blob_writer_free(writer);
  return status;
}

static farcache_blob_reader *open_blob(const char *name) {
  farcache_blob_reader *reader;
  WANT(farcache_blob_open(blobs, name, &reader) == FARCACHE_STATUS_OK && reader != NULL);
  return reader;
}

static void writing_and_reading(void) {
  size_t read;
  WANT(write_blob("b", 777) == FARCACHE_STATUS_OK);
  farcache_blob_reader *reader = open_blob("b");
  WANT(farcache_blob_length(reader) == BYTES && farcache_blob_length(NULL) == 0);
  WANT(farcache_blob_read(reader, 0, room, sizeof room, &read) == FARCACHE_STATUS_OK);
  WANT(read == BYTES && memcmp(room, content, BYTES) == 0);
  WANT(farcache_blob_unbuffer(reader) == FARCACHE_STATUS_OK);
  WANT(farcache_blob_unbuffer(NULL) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_blob_read(reader, 200000, room, 7, &read) == FARCACHE_STATUS_OK && read == 7);
  WANT(memcmp(room, content + 200000, 7) == 0);
  WANT(farcache_blob_read(reader, BYTES, room, 7, &read) == FARCACHE_STATUS_OK && read == 0);
  WANT(farcache_blob_read(reader, 0, NULL, 0, &read) == FARCACHE_STATUS_OK && read == 0);
  WANT(farcache_blob_read(reader, 0, NULL, 1, &read) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_blob_reader_free(reader);
}

static void where_they_are(void) {
  uint64_t told[2] = {7, 7};
  farcache_blob_reader *reader = open_blob("b");
  WANT(farcache_blob_servers(reader, 0, UINT64_MAX, told, 2) == FARCACHE_STATUS_OK);
  WANT(told[0] == BYTES && told[1] == 0);
  WANT(farcache_blob_servers(reader, 99999, 2, told, 1) == FARCACHE_STATUS_OK && told[0] == 2);
  WANT(farcache_blob_servers(reader, BYTES - 1, 9, told, 1) == FARCACHE_STATUS_OK && told[0] == 1);
  WANT(farcache_blob_servers(reader, BYTES, 9, told, 1) == FARCACHE_STATUS_OK && told[0] == 0);
  WANT(farcache_blob_servers(reader, 0, 1, NULL, 1) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  WANT(farcache_blob_servers(NULL, 0, 1, told, 1) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_blob_reader_free(reader);
}

static void what_is_not_there(void) {
  farcache_blob_reader *reader;
  farcache_blob_writer *writer;
  WANT(farcache_blob_open(blobs, "absent", &reader) == FARCACHE_STATUS_NOT_FOUND && reader == NULL);
  WANT(strstr(farcache_message(), "absent") != NULL);
  WANT(farcache_blob_remove(blobs, "absent") == FARCACHE_STATUS_NOT_FOUND);
  WANT(farcache_blob_create(blobs, "a b", &writer) == FARCACHE_STATUS_INVALID_KEY && writer == NULL);
  WANT(farcache_blob_create(blobs, NULL, &writer) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_blob_writer_free(NULL);
  farcache_blob_reader_free(NULL);
  farcache_blobs_free(NULL);
}

static void given_up(void) {
  farcache_blob_writer *writer;
  farcache_blob_reader *reader;
  WANT(farcache_blob_create(blobs, "given-up", &writer) == FARCACHE_STATUS_OK);
  WANT(farcache_blob_write(writer, content, BYTES) == FARCACHE_STATUS_OK);
  farcache_blob_writer_free(writer);
  WANT(farcache_blob_open(blobs, "given-up", &reader) == FARCACHE_STATUS_NOT_FOUND);
}

static void published(void) {
  size_t read;
  farcache_blob_writer *writer;
  WANT(farcache_blob_create(blobs, "published", &writer) == FARCACHE_STATUS_OK);
  WANT(farcache_blob_write(writer, content, 150000) == FARCACHE_STATUS_OK);
  WANT(farcache_blob_publish(writer) == FARCACHE_STATUS_OK);
  WANT(farcache_blob_write(writer, content + 150000, 1000) == FARCACHE_STATUS_OK);
  farcache_blob_writer_free(writer);
  WANT(farcache_blob_publish(NULL) == FARCACHE_STATUS_INVALID_ARGUMENTS);
  farcache_blob_reader *reader = open_blob("published");
  WANT(farcache_blob_length(reader) == 150000);
  WANT(farcache_blob_read(reader, 0, room, sizeof room, &read) == FARCACHE_STATUS_OK);
  WANT(read == 150000 && memcmp(room, content, read) == 0);
  farcache_blob_reader_free(reader);
}

/* More copies than there are servers, what is no redundancy, and two policies at once. */
static void redundancy(const char *server) {
  farcache_client *none;
  farcache_options *options = farcache_options_new();
  WANT(farcache_options_set(options, "blob-redundancy", "copies:2") == FARCACHE_STATUS_CONFIGURATION);
  WANT(farcache_options_set(options, "blob-redundancy", "replicate:2") == FARCACHE_STATUS_OK);
  WANT(farcache_client_new(server, options, &none) == FARCACHE_STATUS_CONFIGURATION);
  WANT(strstr(farcache_message(), "servers") != NULL);
  WANT(farcache_options_set(options, "redundancy", "replicate:2") == FARCACHE_STATUS_OK);
  WANT(farcache_client_new(server, options, &none) == FARCACHE_STATUS_CONFIGURATION);
  WANT(strstr(farcache_message(), "blob-redundancy") != NULL);
  farcache_options_free(options);
}

static void replaced_and_removed(void) {
  size_t read;
  farcache_blob_reader *reader = open_blob("b");
  WANT(write_blob("b", BYTES) == FARCACHE_STATUS_OK);
  WANT(farcache_blob_read(reader, 0, room, 1, &read) == FARCACHE_STATUS_REPLACED && read == 0);
  farcache_blob_reader_free(reader);
  reader = open_blob("b");
  WANT(farcache_blob_remove(blobs, "b") == FARCACHE_STATUS_OK);
  WANT(farcache_blob_read(reader, 0, room, 1, &read) == FARCACHE_STATUS_REPLACED);
  farcache_blob_reader_free(reader);
}

/* What a server has evicted or damaged, done by hand: the manifest begins with 40 bytes, its bytes 24 to 39 are the
   id of the write. */
static void gone_and_damaged(void) {
  char key[100] = "chunk:";
  farcache_request *request;
  farcache_result result;
  size_t read;
  WANT(write_blob("c", BYTES) == FARCACHE_STATUS_OK);
  WANT(farcache_get(client, "blob:c", 6, NULL, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  WANT(farcache_request_result(request, &result) == FARCACHE_STATUS_OK && result.value_bytes > 40);
  for (int index = 0; index < 16; index++) {
    sprintf(key + 6 + 2 * index, "%02x", ((const unsigned char *)result.value)[24 + index]);
  }
  strcat(key, ":1");
  farcache_request_free(request);
  WANT(farcache_set(client, key, strlen(key), "damage", 6, 0, NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  farcache_request_free(request);
  farcache_blob_reader *reader = open_blob("c");
  WANT(farcache_blob_read(reader, 100000, room, 1, &read) == FARCACHE_STATUS_DAMAGED && read == 0);
  WANT(farcache_delete(client, key, strlen(key), NULL, &request) == FARCACHE_STATUS_OK);
  WANT(farcache_wait(request) == FARCACHE_STATUS_OK);
  farcache_request_free(request);
  WANT(farcache_blob_read(reader, 100000, room, 1, &read) == FARCACHE_STATUS_MISSING_CHUNK);
  WANT(strstr(farcache_message(), "chunk 1 of write") != NULL);
  WANT(farcache_blob_read(reader, 0, room, 1, &read) == FARCACHE_STATUS_OK && read == 1);
  farcache_blob_reader_free(reader);
}

static void settings(void) {
  farcache_blob_settings wrong = {((size_t)1 << 30) + 1, 0, 0, 0};
  farcache_blobs *none;
  WANT(farcache_blobs_new(client, &wrong, &none) == FARCACHE_STATUS_INVALID_ARGUMENTS && none == NULL);
  WANT(farcache_blobs_new(client, NULL, &none) == FARCACHE_STATUS_OK);
  farcache_blobs_free(none);
}

int main(int count, char **arguments) {
  WANT(count == 2 && farcache_client_new(arguments[1], NULL, &client) == FARCACHE_STATUS_OK);
  farcache_blob_settings small = {100000, 300000, 0, 0};
  WANT(farcache_blobs_new(client, &small, &blobs) == FARCACHE_STATUS_OK);
  for (size_t place = 0; place < BYTES; place++) {
    content[place] = (unsigned char)(place * 31 + (place >> 8) * 17);
  }
  writing_and_reading();
  where_they_are();
  what_is_not_there();
  given_up();
  published();
  redundancy(arguments[1]);
  replaced_and_removed();
  gone_and_damaged();
  settings();
  WANT(farcache_blob_remove(blobs, "c") == FARCACHE_STATUS_OK);
  farcache_blobs_free(blobs);
  farcache_client_free(client);
  puts("everything holds");
  return 0;
}
