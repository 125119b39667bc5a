//! libfarcache: Farcache's client for C and everything that speaks C.
//!
//! `include/farcache.h` is made from these files. Handles are opaque; every operation is a request
//! that is tested, waited for, or tells its end by a callback. `docs/c-api.md` is the user's page.
//!
//! C's contract holds for every function: a pointer points to what its type says or, where the
//! function says so, is null; memory has as many bytes as the length beside it; what was freed is
//! not used again; memory that is lent to a request is left alone until that is complete. Exported
//! functions turn their arguments into Rust's ([`arguments`]) and call methods that are written in
//! terms of references.
//!
//! | file | what it does |
//! |---|---|
//! | `status` | how calls end, and the message that goes with a failure |
//! | `options` | settings of a client, by name |
//! | `client` | the handle, and what it knows of its servers |
//! | `registrations` | which memory is registered with the network, and what uses it |
//! | `buffer` | registering memory |
//! | `call` | how one operation is to be carried out |
//! | `beginning` | what all operations begin with |
//! | `get`, `get_many`, `store`, `change` | beginning an operation on a key |
//! | `servers` | beginning an operation on a server |
//! | `blob` | files as chunks |
//! | `request` | an operation that is under way: testing, waiting, callbacks |
//! | `outcome` | what an operation has brought |
//! | `result` | looking at that |
//!
//! To Rust, the crate shows what the header shows to C and nothing else: bindings for other
//! languages are written against that.
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract is the same for all, and these texts are the header's"
)]

mod arguments;
mod beginning;
mod blob;
mod buffer;
mod call;
mod change;
mod client;
mod get;
mod get_many;
mod options;
mod outcome;
mod registrations;
mod request;
mod result;
mod servers;
mod status;
mod store;

pub use blob::{
    BlobPart, BlobReader, BlobSettings, BlobWriter, BlobsHandle, farcache_blob_close,
    farcache_blob_create, farcache_blob_expire, farcache_blob_flush, farcache_blob_length,
    farcache_blob_open, farcache_blob_publish, farcache_blob_read, farcache_blob_read_parts,
    farcache_blob_reader_free, farcache_blob_remove, farcache_blob_servers, farcache_blob_unbuffer,
    farcache_blob_write, farcache_blob_writer_free, farcache_blobs_free, farcache_blobs_new,
};
pub use buffer::{Buffer, farcache_buffer_free, farcache_buffer_register};
pub use call::Call;
pub use change::{farcache_decrement, farcache_delete, farcache_increment, farcache_touch};
pub use client::{
    ClientHandle, farcache_client_free, farcache_client_new, farcache_lanes, farcache_progress,
    farcache_server_name, farcache_server_named, farcache_server_of_key, farcache_servers,
};
pub use get::{farcache_get, farcache_get_and_touch};
pub use get_many::{Slice, farcache_get_many};
pub use options::{Options, farcache_options_free, farcache_options_new, farcache_options_set};
pub use outcome::{Item, Outcome};
pub use request::{
    Callback, Request, farcache_request_free, farcache_test, farcache_wait, farcache_wait_any,
};
pub use result::{farcache_request_message, farcache_request_result, farcache_result_item};
pub use servers::{
    farcache_flush_server, farcache_noop, farcache_server_version, farcache_statistics,
};
pub use status::{Status, farcache_message, farcache_status_text, farcache_version};
pub use store::{farcache_add, farcache_append, farcache_prepend, farcache_replace, farcache_set};
