/* Farcache's C interface. Written by scripts/c-header from bindings/c/src; docs/c-api.md tells how it is used. */

#ifndef FARCACHE_H
#define FARCACHE_H

#include <stddef.h>
#include <stdint.h>

/* All of an interface that only grows: programs built for one version run with every later one. */
#define FARCACHE_API 1

/* A call without anything special; members that are set by name leave the others at zero. */
#define FARCACHE_CALL_INIT { NULL, NULL, 0, NULL, 0, 0, 0, 0 }

// How a call or an operation ended.
typedef enum farcache_status {
  // It did what was asked.
  FARCACHE_STATUS_OK = 0,
  // The operation is not complete.
  FARCACHE_STATUS_IN_PROGRESS = 1,
  // There is no such key.
  FARCACHE_STATUS_NOT_FOUND = 2,
  // The condition for storing did not hold: appending to a key that is absent, say.
  FARCACHE_STATUS_NOT_STORED = 3,
  // The key is there already, or its item has another CAS token.
  FARCACHE_STATUS_EXISTS = 4,
  // The value is larger than the server takes.
  FARCACHE_STATUS_TOO_LARGE = 5,
  // The server has no memory for it.
  FARCACHE_STATUS_OUT_OF_MEMORY = 6,
  // The value to count with is not a number.
  FARCACHE_STATUS_NOT_NUMERIC = 7,
  // The value does not fit into the room that was given for it, which is unchanged.
  FARCACHE_STATUS_BUFFER_TOO_SMALL = 8,
  // The key is empty or longer than 250 bytes.
  FARCACHE_STATUS_INVALID_KEY = 9,
  // The call makes no sense.
  FARCACHE_STATUS_INVALID_ARGUMENTS = 10,
  // No answer in time. Whether it was carried out is unknown.
  FARCACHE_STATUS_TIMEOUT = 11,
  // The server has failed lately and is not tried again yet. Nothing was sent.
  FARCACHE_STATUS_SERVER_DEAD = 12,
  // The server could not be connected to. Nothing was sent.
  FARCACHE_STATUS_CONNECT = 13,
  // The connection ended before the answer. Whether it was carried out is unknown.
  FARCACHE_STATUS_CONNECTION_LOST = 14,
  // The server wants other credentials, or any.
  FARCACHE_STATUS_AUTH_FAILED = 15,
  // The fabric was demanded and is not to be had.
  FARCACHE_STATUS_FABRIC_UNAVAILABLE = 16,
  // The server does not know this operation.
  FARCACHE_STATUS_UNSUPPORTED = 17,
  // The server answers what the protocol does not allow.
  FARCACHE_STATUS_PROTOCOL = 18,
  // The server refused in a way that has no name here.
  FARCACHE_STATUS_SERVER = 19,
  // The client has no servers.
  FARCACHE_STATUS_NO_SERVERS = 20,
  // The client's settings cannot work.
  FARCACHE_STATUS_CONFIGURATION = 21,
  // Something else still needs it, or too much is under way.
  FARCACHE_STATUS_BUSY = 22,
  // A chunk of a blob is gone: evicted, or lost with its server.
  FARCACHE_STATUS_MISSING_CHUNK = 23,
  // A chunk or the manifest of a blob is not what was written.
  FARCACHE_STATUS_DAMAGED = 24,
  // The blob was overwritten or removed after it had been opened.
  FARCACHE_STATUS_REPLACED = 25,
} farcache_status;

// A blob as it was when it was opened; one thread at a time may use it.
typedef struct farcache_blob_reader farcache_blob_reader;

// A blob that is being written; one thread at a time may use it.
typedef struct farcache_blob_writer farcache_blob_writer;

// Blobs on the servers of a client: files, whole or not there, as chunks with a manifest. Any
// number of threads may use it at the same time.
typedef struct farcache_blobs farcache_blobs;

// Memory of the caller that is registered with the network.
typedef struct farcache_buffer farcache_buffer;

// A client of one or several servers; any number of threads may use it at the same time.
typedef struct farcache_client farcache_client;

// Settings for clients to be.
typedef struct farcache_options farcache_options;

// An operation that has been submitted. One thread at a time may use a request; different ones may
// be used by different threads.
typedef struct farcache_request farcache_request;

// What an operation has brought. Pointers are valid until its request is freed.
typedef struct farcache_result {
  // The value, in the room that was given or else in the library's memory; of
  // farcache_server_version the text.
  const void *value;
  // Its length in bytes; with FARCACHE_STATUS_BUFFER_TOO_SMALL what it would be.
  size_t value_bytes;
  // The item's CAS token, where there is one.
  uint64_t cas;
  // The number after counting.
  uint64_t number;
  // How many items there are for farcache_result_item: keys of a multi-get, or statistics.
  size_t items;
  // The application's number, as stored.
  uint32_t flags;
} farcache_result;

// One of several: a key of a multi-get, or a statistic. Pointers are valid until the request is
// freed.
typedef struct farcache_item {
  // The statistic's name, a text; null for a key.
  const char *name;
  // The value; a statistic's is a text.
  const void *value;
  // Its length in bytes, a text's without the zero byte.
  size_t value_bytes;
  // The item's CAS token.
  uint64_t cas;
  // The application's number, as stored.
  uint32_t flags;
  // FARCACHE_STATUS_OK, FARCACHE_STATUS_NOT_FOUND, or why the value could not be had.
  enum farcache_status status;
} farcache_item;

// Called once when the operation is complete, within farcache_progress, farcache_test or a call
// that waits, by whatever thread makes it, or by the progress thread. It may use the client, look
// at the request, and free it.
typedef void (*farcache_callback)(struct farcache_request *request, void *argument);

// How one operation is to be carried out, where it is not as usual. Begin with FARCACHE_CALL_INIT,
// which changes nothing.
typedef struct farcache_call {
  // Called when the operation is complete, with the argument below. May be null.
  farcache_callback callback;
  // For the callback.
  void *argument;
  // How long the operation may take, in microseconds; 0 for the client's timeout-ms.
  uint64_t timeout_us;
  // The key that chooses the server, in place of the operation's own. May be null.
  const void *group;
  // Its length in bytes.
  size_t group_bytes;
  // Stores and deletes only where the item has this CAS token; 0 for no such condition.
  uint64_t cas;
  // The application's number to store with a value.
  uint32_t flags;
  // Not 0: a value to store is copied, and the caller may use its memory again at once.
  uint32_t copies_value;
} farcache_call;

// Bytes in memory.
typedef struct farcache_slice {
  // The first one.
  const void *start;
  // How many.
  size_t bytes;
} farcache_slice;

// How blobs are written and read. 0 stands for the usual.
typedef struct farcache_blob_settings {
  // Bytes of a chunk of what is written: 512 KiB. With its key it must be an item that the
  // servers take.
  size_t chunk_bytes;
  // Bytes that one writer may have under way, or one reader hold: 8 MiB. One chunk is always
  // allowed.
  size_t window_bytes;
  // Bytes that all writers and readers together may hold or have under way: 64 MiB.
  size_t in_flight_bytes_max;
  // How long, in milliseconds, a writer goes on trying to store what servers have no room for
  // or, where blobs lie on several servers, what too few of them are up for: not at all.
  uint64_t patience_ms;
} farcache_blob_settings;

// A part of a blob that is to be read.
typedef struct farcache_blob_part {
  // Where it begins.
  uint64_t offset;
  // Where it goes.
  void *room;
  // How many bytes are wanted.
  size_t room_bytes;
} farcache_blob_part;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What went wrong in the last call of this thread that failed, for people. Valid until the next
// call that fails. How an operation failed is told by farcache_request_message.
const char *farcache_message(void);

// What a status means, in general.
const char *farcache_status_text(int status);

// The library's version: "0.1.0".
const char *farcache_version(void);

// Options with their defaults; to be freed with farcache_options_free.
struct farcache_options *farcache_options_new(void);

// Sets an option by its name: transport (auto, fabric, tcp), timeout-ms, connect-timeout-ms,
// progress-thread (on, off), spin-us, eager-bytes-max, remove-after-failures, removed-for-ms,
// cluster (map, list), redundancy (replicate:3, ec:3,2, ...), blob-redundancy (the same for blobs
// alone), user, password, tls-ca-file, tls-certificate-file, tls-key-file, tls-server-name.
// FARCACHE_OPTIONS="name=value ..." in the environment goes first.
enum farcache_status farcache_options_set(struct farcache_options *options,
                                          const char *name,
                                          const char *value);

// Frees options; clients made with them keep what they said. Null is fine.
void farcache_options_free(struct farcache_options *options);

// Makes a client of these servers, separated by commas: "host", "host:port", "[IPv6]:port", or the
// path of a unix socket. Nothing is connected before the first operation. options may be null. To
// be freed with farcache_client_free.
enum farcache_status farcache_client_new(const char *servers,
                                         const struct farcache_options *options,
                                         struct farcache_client **client);

// Frees a client, and ends its progress thread; where that is inside of a callback, this waits for
// it. Requests and buffers stay valid and keep what they need; requests then move on only while
// they are tested or waited for. Null is fine.
void farcache_client_free(struct farcache_client *client);

// Sends what has been submitted, takes in what has arrived, and calls the callbacks of what is
// complete. Never waits.
enum farcache_status farcache_progress(const struct farcache_client *client);

// How many servers there are.
size_t farcache_servers(const struct farcache_client *client);

// The number of the server on which a key lives, counted from 0.
enum farcache_status farcache_server_of_key(const struct farcache_client *client,
                                            const void *key,
                                            size_t key_bytes,
                                            size_t *server);

// The number of the server of this name, as it was given to farcache_client_new: host:port, with
// the port also where it was left out, or the path of a unix socket. Numbers follow the list and
// change with it; names do not.
enum farcache_status farcache_server_named(const struct farcache_client *client,
                                           const char *name,
                                           size_t *server);

// Writes the name of a server; nothing for a number that none has. As with snprintf the text is
// cut off to fit into room_bytes, zero byte included, and its whole length is returned.
size_t farcache_server_name(const struct farcache_client *client,
                            size_t server,
                            char *room,
                            size_t room_bytes);

// Writes by which networks of the fabric a server is reached now; nothing where it is reached by a
// socket or not at all. As with snprintf the text is cut off to fit into room_bytes, zero byte
// included, and its whole length is returned.
size_t farcache_lanes(const struct farcache_client *client, size_t server, char *room, size_t room_bytes);

// Whether a request is complete, and its callback has returned: FARCACHE_STATUS_IN_PROGRESS, or
// how it ended. Moves all requests of its client on. Never waits.
enum farcache_status farcache_test(struct farcache_request *request);

// Waits until a request is complete, and its callback has been called; how it ended.
enum farcache_status farcache_wait(struct farcache_request *request);

// Waits until one of so many requests of the same client is complete, and writes its index. Null
// pointers among them are passed over. FARCACHE_STATUS_OK, however that one ended.
enum farcache_status farcache_wait_any(struct farcache_request *const *requests, size_t count, size_t *index);

// Frees a request. One that is not complete is given up: it may still take effect at the server,
// its callback is not called any more, and where memory is lent to it this waits until the network
// has let go of that. Null is fine.
void farcache_request_free(struct farcache_request *request);

// How a request ended, and in *result what it brought. FARCACHE_STATUS_IN_PROGRESS where it is not
// known to be complete, which farcache_test, farcache_wait and callbacks find out. result may be
// null.
enum farcache_status farcache_request_result(const struct farcache_request *request,
                                             struct farcache_result *result);

// One of the items that a complete multi-get or farcache_statistics has brought, counted from 0.
enum farcache_status farcache_result_item(const struct farcache_request *request,
                                          size_t index,
                                          struct farcache_item *item);

// Why a complete request failed, for people; empty where it did not. Valid until the request is
// freed.
const char *farcache_request_message(const struct farcache_request *request);

// Registers memory of the caller's with the network, once, so that values above eager-bytes-max
// are sent from there and received into it without being registered each time; over sockets it
// changes nothing. Values and rooms of operations of this client that lie in it then use it by
// themselves. The memory must stay as it is until farcache_buffer_free.
enum farcache_status farcache_buffer_register(const struct farcache_client *client,
                                              void *memory,
                                              size_t memory_bytes,
                                              struct farcache_buffer **buffer);

// Ends a registration; the memory stays the caller's. FARCACHE_STATUS_BUSY, and nothing changed,
// while a request that uses it is not complete. Null is fine.
enum farcache_status farcache_buffer_free(struct farcache_buffer *buffer);

// Begins to get a value into room of so many bytes, which is lent to the request until that is
// complete; a null room has the library keep the value. call may be null, here and everywhere.
enum farcache_status farcache_get(const struct farcache_client *client,
                                  const void *key,
                                  size_t key_bytes,
                                  void *room,
                                  size_t room_bytes,
                                  const struct farcache_call *call,
                                  struct farcache_request **request);

// Begins to get a value, as farcache_get does, and gives the item a new expiry: seconds up to 30
// days, above that seconds since 1970, 0 for ever.
enum farcache_status farcache_get_and_touch(const struct farcache_client *client,
                                            const void *key,
                                            size_t key_bytes,
                                            uint32_t expiry_s,
                                            void *room,
                                            size_t room_bytes,
                                            const struct farcache_call *call,
                                            struct farcache_request **request);

// Begins to get up to 65,536 values, which the library keeps: farcache_result_item has them in the
// order of the keys. The request ends with FARCACHE_STATUS_OK, whatever became of each key.
enum farcache_status farcache_get_many(const struct farcache_client *client,
                                       const struct farcache_slice *keys,
                                       size_t count,
                                       const struct farcache_call *call,
                                       struct farcache_request **request);

// Begins to store a value in any case. Its memory is lent to the request until that is complete,
// unless the call says that it is copied; so it is with the next four. The expiry is as with
// farcache_get_and_touch.
enum farcache_status farcache_set(const struct farcache_client *client,
                                  const void *key,
                                  size_t key_bytes,
                                  const void *value,
                                  size_t value_bytes,
                                  uint32_t expiry_s,
                                  const struct farcache_call *call,
                                  struct farcache_request **request);

// Begins to store a value where the key is absent.
enum farcache_status farcache_add(const struct farcache_client *client,
                                  const void *key,
                                  size_t key_bytes,
                                  const void *value,
                                  size_t value_bytes,
                                  uint32_t expiry_s,
                                  const struct farcache_call *call,
                                  struct farcache_request **request);

// Begins to store a value where the key is present.
enum farcache_status farcache_replace(const struct farcache_client *client,
                                      const void *key,
                                      size_t key_bytes,
                                      const void *value,
                                      size_t value_bytes,
                                      uint32_t expiry_s,
                                      const struct farcache_call *call,
                                      struct farcache_request **request);

// Begins to put a value behind the one that is there, which keeps its flags and its expiry.
enum farcache_status farcache_append(const struct farcache_client *client,
                                     const void *key,
                                     size_t key_bytes,
                                     const void *value,
                                     size_t value_bytes,
                                     const struct farcache_call *call,
                                     struct farcache_request **request);

// Begins to put a value in front of the one that is there.
enum farcache_status farcache_prepend(const struct farcache_client *client,
                                      const void *key,
                                      size_t key_bytes,
                                      const void *value,
                                      size_t value_bytes,
                                      const struct farcache_call *call,
                                      struct farcache_request **request);

// Begins to give an item a new expiry.
enum farcache_status farcache_touch(const struct farcache_client *client,
                                    const void *key,
                                    size_t key_bytes,
                                    uint32_t expiry_s,
                                    const struct farcache_call *call,
                                    struct farcache_request **request);

// Begins to remove an item.
enum farcache_status farcache_delete(const struct farcache_client *client,
                                     const void *key,
                                     size_t key_bytes,
                                     const struct farcache_call *call,
                                     struct farcache_request **request);

// Begins to add to a decimal number. Where the key is absent, *initial is stored with the expiry;
// with a null initial the request ends with FARCACHE_STATUS_NOT_FOUND.
enum farcache_status farcache_increment(const struct farcache_client *client,
                                        const void *key,
                                        size_t key_bytes,
                                        uint64_t delta,
                                        const uint64_t *initial,
                                        uint32_t expiry_s,
                                        const struct farcache_call *call,
                                        struct farcache_request **request);

// Begins to subtract from a decimal number, down to 0; otherwise as farcache_increment.
enum farcache_status farcache_decrement(const struct farcache_client *client,
                                        const void *key,
                                        size_t key_bytes,
                                        uint64_t delta,
                                        const uint64_t *initial,
                                        uint32_t expiry_s,
                                        const struct farcache_call *call,
                                        struct farcache_request **request);

// Begins to drop every item of a server, now or so many seconds later.
enum farcache_status farcache_flush_server(const struct farcache_client *client,
                                           size_t server,
                                           uint32_t delay_s,
                                           const struct farcache_call *call,
                                           struct farcache_request **request);

// Begins to ask a server for its version: the request's value.
enum farcache_status farcache_server_version(const struct farcache_client *client,
                                             size_t server,
                                             const struct farcache_call *call,
                                             struct farcache_request **request);

// Begins to ask a server to answer.
enum farcache_status farcache_noop(const struct farcache_client *client,
                                   size_t server,
                                   const struct farcache_call *call,
                                   struct farcache_request **request);

// Begins to ask a server for statistics: the general ones, or those of a group ("settings",
// "fabric", ...) that is not null. farcache_result_item has them.
enum farcache_status farcache_statistics(const struct farcache_client *client,
                                         size_t server,
                                         const char *group,
                                         const struct farcache_call *call,
                                         struct farcache_request **request);

// Blobs on the servers of this client; settings may be null. To be freed with farcache_blobs_free,
// after its writers and readers or before. Chunks are stored behind the caller's back all the time
// where the client has its progress-thread, and else within calls only.
enum farcache_status farcache_blobs_new(const struct farcache_client *client,
                                        const struct farcache_blob_settings *blob_settings,
                                        struct farcache_blobs **blobs);

// Frees it. Null is fine.
void farcache_blobs_free(struct farcache_blobs *blobs);

// Begins to write a blob; its name has 1 to 200 bytes, without spaces and control characters. It
// is there, whole, once farcache_blob_close has returned; until then a former one of this name
// stays. To be freed with farcache_blob_writer_free.
enum farcache_status farcache_blob_create(const struct farcache_blobs *blobs,
                                          const char *name,
                                          struct farcache_blob_writer **writer);

// Writes more bytes, which are copied. A full chunk is stored behind the caller's back; where as
// much is under way as the settings allow, this waits. It fails where that has failed for any
// chunk, now or earlier.
enum farcache_status farcache_blob_write(struct farcache_blob_writer *writer,
                                         const void *data,
                                         size_t data_bytes);

// Waits until all full chunks are stored. Nobody sees them before farcache_blob_publish or
// farcache_blob_close.
enum farcache_status farcache_blob_flush(struct farcache_blob_writer *writer);

// Stores what has been written so far: from now on there is a blob with these bytes, and stays as
// it is if the writer is freed or dies. Who opens it sees no more of it than that.
enum farcache_status farcache_blob_publish(struct farcache_blob_writer *writer);

// Stores what is left, and then the manifest: the blob is there, in the place of a former one of
// its name. Where this fails, the blob is not there, unless the status says that whether a request
// was carried out is unknown. Whatever it says, nothing but freeing can be done with the writer.
enum farcache_status farcache_blob_close(struct farcache_blob_writer *writer);

// Frees a writer. One that has not been closed removes what it has stored and not published. Null
// is fine.
void farcache_blob_writer_free(struct farcache_blob_writer *writer);

// Opens a blob as it is now. To be freed with farcache_blob_reader_free.
enum farcache_status farcache_blob_open(const struct farcache_blobs *blobs,
                                        const char *name,
                                        struct farcache_blob_reader **reader);

// Length of a blob in bytes.
uint64_t farcache_blob_length(const struct farcache_blob_reader *reader);

// Tells how many of so many bytes from this place on each server of the client has: a copy, or a
// shard, of the chunks in which they lie. bytes_on_servers has room for so many servers, counted
// from 0; where that is fewer than the client has, the others are left out. No server is asked.
enum farcache_status farcache_blob_servers(const struct farcache_blob_reader *reader,
                                           uint64_t offset,
                                           uint64_t bytes,
                                           uint64_t *bytes_on_servers,
                                           size_t servers);

// Reads from this place on, as many bytes as the room takes or the blob has; read is told how
// many. Reads that follow one another are read ahead. A chunk that is gone, or is not what was
// written, is an error, and what the room holds then is unspecified.
enum farcache_status farcache_blob_read(struct farcache_blob_reader *reader,
                                        uint64_t offset,
                                        void *room,
                                        size_t room_bytes,
                                        size_t *read);

// Reads several parts of a blob. Their chunks are asked for together, each of them once. read is
// told how many bytes there were: as many as are wanted, but for those behind the end of the blob.
// The rooms must not overlap. Errors are those of farcache_blob_read.
enum farcache_status farcache_blob_read_parts(struct farcache_blob_reader *reader,
                                              const struct farcache_blob_part *parts,
                                              size_t count,
                                              uint64_t *read);

// Lets go of what was read ahead, and of its memory. A later read asks the servers again.
enum farcache_status farcache_blob_unbuffer(struct farcache_blob_reader *reader);

// Frees a reader. Null is fine.
void farcache_blob_reader_free(struct farcache_blob_reader *reader);

// Removes a blob: its manifest, then its chunks.
enum farcache_status farcache_blob_remove(const struct farcache_blobs *blobs, const char *name);

// Gives a blob that is not being written an expiry, in seconds up to 30 days, or as a time since
// 1970: a server that needs room may evict any part of it from then on. Where this fails, some of
// its chunks may have the expiry, and the blob is still there.
enum farcache_status farcache_blob_expire(const struct farcache_blobs *blobs,
                                          const char *name,
                                          uint32_t expiry_s);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FARCACHE_H */
