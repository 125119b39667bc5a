//! What is native of the Java client: `io.farcache.client.Native`, on top of libfarcache.
//!
//! Nothing but the C interface is used, with the contract that stands at the top of
//! `bindings/c/src/lib.rs`. Java's part of the contract is that it uses a client only while that
//! is open (`NativeClient` counts its users), that places and lengths lie in their arrays and
//! buffers, and that a buffer lent to an operation is kept until that has ended (`Pending`).
//!
//! | file | what it does |
//! |---|---|
//! | `boundary` | panics, failures, texts and numbers between Java and Rust |
//! | `exports`, `operations` | the native methods: of a client; of operations on keys and servers |
//! | `asked` | what the latter have in common: from beginning to outcome |
//! | `memory` | keys, arrays and buffers of Java's |
//! | `operation` | beginning an operation through the C interface |
//! | `finished` | what a complete request has brought, for Java |
//! | `client` | a client, and its operations for which nobody waits |
//! | `carry_out` | waiting for an operation, or having its end told |
//! | `blobs`, `blob_writer`, `blob_reader` | the native methods of files as chunks |
//! | `blob_room` | where one of several parts is read to |
//! | `machine` | the virtual machine, and calls into it |

mod asked;
mod blob_reader;
mod blob_room;
mod blob_writer;
mod blobs;
mod boundary;
mod carry_out;
mod client;
mod exports;
mod finished;
mod machine;
mod memory;
mod operation;
mod operations;
