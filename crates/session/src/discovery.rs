//! Discovery: clients are told which servers the cluster has, in the form of Amazon ElastiCache, so
//! that clients made for it need no change.
//!
//! | asked by | answered by |
//! |---|---|
//! | `config get cluster` | `CONFIG cluster 0 <bytes>`, the configuration, `END` |
//! | `get AmazonElastiCache:cluster` | `VALUE AmazonElastiCache:cluster 0 <bytes>`, the same, `END` |
//! | binary opcode `0x60` with the key `cluster` | 4 bytes of flags, 0, and the configuration |
//! | binary opcode `0xf8`, Farcache's own | the map's text, with its edition as CAS token |
//!
//! Sources: "Adding Auto Discovery To Your Client Library" in ElastiCache's user guide; the replies
//! in the tests of elasticache_pyclient (`test_memcache_client.py`), whose lengths count both lines
//! and their line feeds; `GetConfigOperationImpl` of the ElastiCache cluster client for Java, which
//! takes a binary response's first 4 bytes for flags and the rest for the configuration, so that
//! the response can have no key.

use crate::{Context, VERSION};
use farcache_proto::number;

/// The key of the one configuration there is.
pub(crate) const KEY: &[u8] = b"cluster";

/// The request of clients that take the server for one before memcached 1.4.14.
pub(crate) const LEGACY_LINE: &[u8] = b"get AmazonElastiCache:cluster";

/// What stands before the length in the answer to `config get cluster`.
pub(crate) const CONFIG_HEAD: &[u8] = b"CONFIG cluster 0 ";

/// What stands before the length in the answer to [`LEGACY_LINE`].
pub(crate) const LEGACY_HEAD: &[u8] = b"VALUE AmazonElastiCache:cluster 0 ";

/// The servers of a cluster, as clients are told of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    payload: Vec<u8>,
    edition: u64,
    map: Vec<u8>,
}

impl Configuration {
    /// The configuration of the map of this epoch and edition, whose text is `map`, with these
    /// servers, by host and port, in their order. The epoch is the configuration's version; 0 is
    /// shown as 1, the least that clients take for one.
    ///
    /// Some clients connect to the host's name, others to its address, and both make their rings of
    /// what they connect to: so each is told the same text as both.
    pub fn new<'a>(
        (epoch, edition): (u64, u64),
        map: String,
        servers: impl IntoIterator<Item = (&'a str, u16)>,
    ) -> Self {
        let servers = servers
            .into_iter()
            .map(|(host, port)| format!("{host}|{host}|{port}"));
        let servers: Vec<String> = servers.collect();
        let payload = format!("{}\n{}\n", epoch.max(1), servers.join(" ")).into_bytes();
        Configuration {
            payload,
            edition,
            map: map.into_bytes(),
        }
    }

    /// The map's edition.
    pub(crate) fn edition(&self) -> u64 {
        self.edition
    }

    /// The map's text; nothing for who knows that of this edition.
    pub(crate) fn map_unless(&self, known_edition: u64) -> &[u8] {
        match known_edition == self.edition {
            true => &[],
            false => &self.map,
        }
    }

    /// The lines of version and servers, each with its line feed.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Appends the answer of the text protocol that begins with this head.
    pub(crate) fn push_text(&self, head: &[u8], buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(head);
        number::push(buffer, self.payload.len());
        buffer.extend_from_slice(b"\r\n");
        buffer.extend_from_slice(&self.payload);
        buffer.extend_from_slice(b"\r\nEND\r\n");
    }
}

impl Context<'_> {
    /// The version told to clients: in a cluster without what follows the release, which
    /// elasticache_pyclient and others fail at when they compare it with 1.4.14.
    pub(crate) fn version(&self) -> &'static str {
        match self.host.configuration() {
            Some(_) => VERSION
                .split_once('-')
                .map_or(VERSION, |(release, _)| release),
            None => VERSION,
        }
    }
}
