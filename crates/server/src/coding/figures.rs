//! What plans have come to, for operators.

use farcache_proto::binary::{Header, Opcode, Status};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of all workers since the start.
#[derive(Default)]
pub struct Figures {
    /// Writes for clients.
    pub stores: AtomicU64,
    /// Writes of which nobody knows whether they have taken effect.
    pub stores_in_doubt: AtomicU64,
    /// Writes that had no effect.
    pub stores_refused: AtomicU64,
    /// Reads for clients.
    pub reads: AtomicU64,
    /// Reads that could not say what there is: their clients read themselves.
    pub reads_undecided: AtomicU64,
}

impl Figures {
    /// Counts what a client is told by this packet.
    pub fn count(&self, reply: &[u8]) {
        let Some(header) = reply.first_chunk().map(Header::decode) else {
            return;
        };
        let (is_store, status) = (
            header.opcode == Opcode::SetSpread as u8,
            Status::from_code(header.status),
        );
        bump(if is_store { &self.stores } else { &self.reads });
        match status {
            Some(Status::Success) => {}
            Some(Status::InDoubt) => bump(&self.stores_in_doubt),
            Some(Status::NotFound) if !is_store => {}
            _ if is_store => bump(&self.stores_refused),
            _ => bump(&self.reads_undecided),
        }
    }

    /// Name, meaning and value of each.
    pub fn told(&self) -> [(&'static str, &'static str, u64); 5] {
        let get = |count: &AtomicU64| count.load(Relaxed);
        [
            (
                "stores",
                "Values stored at several servers for clients",
                get(&self.stores),
            ),
            (
                "stores_in_doubt",
                "Such stores of which nobody knows whether they have taken effect",
                get(&self.stores_in_doubt),
            ),
            (
                "stores_refused",
                "Such stores that had no effect",
                get(&self.stores_refused),
            ),
            (
                "reads",
                "Values read from several servers for clients",
                get(&self.reads),
            ),
            (
                "reads_undecided",
                "Such reads that their clients had to make themselves",
                get(&self.reads_undecided),
            ),
        ]
    }
}

fn bump(count: &AtomicU64) {
    count.fetch_add(1, Relaxed);
}
