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
//! | `buffer` | registered memory |
//! | `call` | how one operation is to be carried out |
//! | `beginning` | what all operations begin with |
//! | `get`, `get_many`, `store`, `change` | beginning an operation on a key |
//! | `servers` | beginning an operation on a server |
//! | `request` | an operation that is under way: testing, waiting, callbacks |
//! | `outcome` | what an operation has brought |

mod arguments;
mod beginning;
mod buffer;
mod call;
mod change;
mod client;
mod get;
mod get_many;
mod options;
mod outcome;
mod request;
mod servers;
mod status;
mod store;
