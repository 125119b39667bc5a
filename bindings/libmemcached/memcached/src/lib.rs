//! A drop-in for libmemcached.so.11 of libmemcached 1.1: its functions and structures on top of
//! Farcache's client.
//!
//! C's contract holds for every function: a pointer points to what its type says or, where the
//! function takes it, is null; a key or a value has as many bytes as the length beside it; one
//! handle is used by one thread at a time; what was freed is not used again. Each exported function
//! does no more than turn its arguments into Rust's ([`arguments`]) and call a method of
//! [`Context`](context::Context), which is written in terms of references.
//!
//! A handle is C's `memcached_st`, whose fields are where C expects them; what C does not see is in
//! a [`State`](context::State) that the handle points to.
//!
//! What differs from libmemcached is told in `docs/libmemcached.md`.

/// Defines exported functions. What their bodies do with C's arguments is unsafe where it relies on
/// C's contract, as it stands at the top of the crate.
macro_rules! export {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? $body
        )*
    };
}

mod admission;
mod arguments;
mod arrangement;
mod batch;
mod behavior;
mod callback;
mod change;
mod configured;
mod connection;
mod context;
mod control;
mod credentials;
mod distribution;
mod errors;
mod failure;
mod fetch;
mod figures;
mod get;
mod get_many;
mod hash;
mod health;
mod instance;
mod key;
mod lifecycle;
mod memory;
mod option_text;
mod options;
mod placement;
mod record;
mod redundancy;
mod request;
mod result;
mod sasl;
mod server;
mod server_list;
mod statistics;
mod store;
mod stored;
mod text;
mod text_link;
