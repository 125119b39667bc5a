//! Counters of one worker thread. Only that thread writes them, so an increment is a plain load and
//! store; any thread may sum them up for `stats`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter with one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to it. Only the owning thread may call this.
    pub fn add(&self, amount: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    /// Adds one. Only the owning thread may call this.
    pub fn bump(&self) {
        self.add(1);
    }

    /// Makes it `value`, where it counts what there is now. Only the owning thread may call this.
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Its value now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Declares the counters once, with memcached's name of each.
macro_rules! counters {
    ($(#[doc = $doc:literal] $field:ident,)*) => {
        /// Counters of one worker, under memcached's own names.
        #[derive(Debug, Default)]
        pub struct Counters { $(#[doc = $doc] pub $field: Counter,)* }

        /// The sum of several workers' [`Counters`].
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Totals { $(#[doc = $doc] pub $field: u64,)* }

        impl Totals {
            /// Adds one worker's counters.
            pub fn add(&mut self, counters: &Counters) {
                $(self.$field = self.$field.wrapping_add(counters.$field.get());)*
            }

            /// What has been counted since `base` (`stats reset` keeps a base).
            pub fn since(&self, base: &Totals) -> Totals {
                Totals { $($field: self.$field.wrapping_sub(base.$field),)* }
            }

            /// Every counter with its name and what it counts.
            pub fn named(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($field), $doc, self.$field),)*]
            }
        }
    };
}

counters! {
    /// Keys asked for by any get.
    cmd_get,
    /// Store commands of any kind.
    cmd_set,
    /// `flush_all` commands.
    cmd_flush,
    /// Touch and get-and-touch commands.
    cmd_touch,
    /// Meta commands.
    cmd_meta,
    /// Gets that found the key.
    get_hits,
    /// Gets that did not find the key.
    get_misses,
    /// Requests that waited for the SSD tier.
    device_waits,
    /// Requests given up while they waited for the SSD tier.
    get_aborted_extstore,
    /// Connections closed because their clients kept memory that others' reads waited for.
    get_stalled_kicks,
    /// Connections closed because what their clients did not read kept memory that was needed.
    stalled_kicks,
    /// Deletes of absent keys.
    delete_misses,
    /// Deletes that removed an item.
    delete_hits,
    /// Increments of absent keys.
    incr_misses,
    /// Increments carried out.
    incr_hits,
    /// Decrements of absent keys.
    decr_misses,
    /// Decrements carried out.
    decr_hits,
    /// CAS stores of absent keys.
    cas_misses,
    /// CAS stores carried out.
    cas_hits,
    /// CAS stores with an outdated token.
    cas_badval,
    /// Touches that found the key.
    touch_hits,
    /// Touches that did not find the key.
    touch_misses,
    /// Stores of too large an item.
    store_too_large,
    /// Stores refused for want of memory.
    store_no_memory,
    /// Authentication commands.
    auth_cmds,
    /// Authentications that failed.
    auth_errors,
    /// Bytes received.
    bytes_read,
    /// Bytes sent.
    bytes_written,
    /// Connections accepted.
    total_connections,
    /// Connections closed.
    closed_connections,
    /// Connections closed as idle.
    idle_kicks,
    /// Connections refused (`maxconns_fast`).
    rejected_connections,
    /// Times accepting paused because the limit of connections was reached.
    listen_disabled_num,
    /// Times a connection gave way to others (`-R`).
    conn_yields,
    /// Times input was read and handled.
    wakeups,
    /// Times input was read together with that of other connections.
    reads_batched,
    /// Requests answered over UDP.
    udp_requests,
    /// Requests passed on to the servers that own their keys.
    forwarded,
    /// Of these, requests that were passed on over the fabric.
    forwarded_over_fabric,
    /// Requests passed on to which no reply came.
    forward_errors,
    /// Requests that other servers passed on to this one.
    forwarded_here,
    /// Requests that other servers passed on although this one does not own their keys.
    forwards_refused,
    /// Malformed requests.
    protocol_errors,
}
