//! What a worker counts of its part of the fabric. Only that worker writes; anyone may read.

use farcache_session::counters::Counter;

/// Whether a figure only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// It counts events.
    Count,
    /// It is what there is now.
    Level,
}

/// One figure, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// As `stats fabric` names it.
    pub name: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    /// Whether it only grows.
    pub nature: Nature,
    /// How much there is.
    pub value: u64,
}

macro_rules! figures {
    ($($name:ident: $nature:ident, $meaning:literal;)*) => {
        /// One worker's figures.
        #[derive(Debug, Default)]
        pub struct Figures { $(#[doc = $meaning] pub $name: Counter,)* }

        impl Figures {
            /// The sum of several workers' figures.
            pub fn sum<'a>(workers: impl Iterator<Item = &'a Figures> + Clone) -> Vec<Figure> {
                vec![$(Figure {
                    name: stringify!($name),
                    meaning: $meaning,
                    nature: Nature::$nature,
                    value: workers.clone().map(|figures| figures.$name.get()).sum(),
                },)*]
            }
        }
    };
}

figures! {
    sessions: Level, "Sessions open";
    sessions_total: Count, "Sessions opened since the start";
    tokens: Level, "Tokens granted and not yet used";
    tokens_expired: Count, "Tokens that were never used";
    refused_unknown: Count, "Clients refused because no session has that number and key";
    refused_token: Count, "Clients refused because of a wrong token";
    refused_replay: Count, "Clients refused because the token had been used";
    unattributed: Count, "Messages dropped because no session has that number and key";
    malformed: Count, "Malformed messages; where they belong to a session, it ends";
    over_credit: Count, "Sessions ended because of more messages than credits";
    over_memory: Count, "Sessions ended because too many of their messages had to be kept";
    peers_lost: Count, "Sessions ended because the network lost the client";
    life_lines_lost: Count, "Sessions ended because the client's TCP connection ended";
    goodbyes: Count, "Sessions ended by the client";
    sessions_retired: Count, "Sessions whose clients went back to their TCP connections, which are faster than UCX's tcp";
    messages_in: Count, "Messages received";
    messages_out: Count, "Messages sent";
    bytes_in: Count, "Bytes received in messages, large values included";
    bytes_out: Count, "Bytes sent in messages, large values included";
    rendezvous_in: Level, "Large values on their way in";
    rendezvous_in_total: Count, "Large values offered by clients and wanted";
    rendezvous_in_refused: Count, "Large values offered by clients and refused";
    rendezvous_out: Level, "Large values on their way out, each pinned in its place";
    rendezvous_out_total: Count, "Large values sent";
    endpoints: Level, "Clients that the network holds a connection to";
    gets_solo: Count, "Gets that came alone and were answered where their messages lay";
    stores_solo: Count, "Sets, adds and replaces that came alone and were answered where their messages lay";
    sessions_stalled: Count, "Sessions ended because their clients took no large values while the memory for these was short";
    sessions_blocked: Count, "Times a session waited for its client to take replies";
}
