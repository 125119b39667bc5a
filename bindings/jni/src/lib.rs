//! What is native of the Java client: `io.farcache.client.Native`, on top of libfarcache.
//!
//! Nothing but the C interface is used, with the contract that stands at the top of
//! `bindings/c/src/lib.rs`. Java's part of the contract is that it uses a client only while that
//! is open (`NativeClient` counts its users), that places and lengths lie in their arrays and
//! buffers, and that a buffer lent to an operation is kept until that has ended (`Pending`).
//!
//! | file | what it does |
//! |---|---|
//! | `exports` | the native methods: from Java's arguments to operations |
//! | `memory` | keys, arrays and buffers of Java's |
//! | `operation` | beginning an operation through the C interface |
//! | `finished` | what a complete request has brought, for Java |
//! | `client` | a client, and its operations for which nobody waits |
//! | `carry_out` | waiting for an operation, or having its end told |
//! | `blobs` | the native methods of files as chunks |
//! | `machine` | the virtual machine, and calls into it |

mod blobs;
mod carry_out;
mod client;
mod exports;
mod finished;
mod machine;
mod memory;
mod operation;
