//! What can be asked of a server.

use crate::part_rooms::PartRooms;
use crate::store::Store;
use arrayvec::ArrayVec;
use farcache_base::version::Keeping;
use farcache_fabric::bytes::ReceiveBytes;
use farcache_proto::binary::Placed;
use farcache_redundancy::spread::SPREAD_BYTES;
use farcache_redundancy::stored::HEADER_BYTES;
use std::time::Duration;

/// The beginning of a value that came with the head of its packet.
pub type Front = ArrayVec<u8, HEADER_BYTES>;

/// Where an operation goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route<'a> {
    /// To the server of the operation's key.
    #[default]
    Key,
    /// To the server of this key instead (libmemcached's `..._by_key`).
    Group(&'a [u8]),
    /// To the server with this index in [`Client::servers`](crate::Client::servers).
    Server(usize),
    /// To this server as one of the key's owners, where the operation is about a version: the
    /// server refuses it if the map of its cluster names others.
    Owner(usize, Placed),
}

/// Which version of a key a server is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionTerms {
    /// The newest.
    #[default]
    Newest,
    /// The newest, and the server promises to take nothing older than this version for the key from
    /// now on. It ends in [`Reply::Promised`] where something newer has been promised already.
    Promise(u64),
    /// What the server had when it stored this version, if it still keeps it ([`Keeping::Older`]).
    Beneath(u64),
}

impl VersionTerms {
    /// The version that the request names; 0 for none.
    pub(crate) fn token(self) -> u64 {
        match self {
            VersionTerms::Newest => 0,
            VersionTerms::Promise(version) | VersionTerms::Beneath(version) => version,
        }
    }
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Add.
    Increment,
    /// Subtract; stops at 0.
    Decrement,
}

/// What [`Operation::Arithmetic`] creates where the key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initial {
    /// The number, stored as it is.
    pub number: u64,
    /// As [`Store::expiry_s`]; `0xffff_ffff` is not allowed.
    pub expiry_s: u32,
}

/// One operation. Keys and copied values are borrowed only while it is submitted.
#[derive(Debug)]
pub enum Operation<'a> {
    /// Get a value. Ends in [`Reply::Value`].
    Get {
        /// Its key.
        key: &'a [u8],
        /// Where to put it; a vector that has grown to the value's size is best. An empty one is
        /// `ReceiveBytes::default()`.
        into: ReceiveBytes,
    },
    /// Get a value and give it a new expiry. Ends in [`Reply::Value`].
    GetAndTouch {
        /// Its key.
        key: &'a [u8],
        /// As [`Store::expiry_s`].
        expiry_s: u32,
        /// As with [`Operation::Get`].
        into: ReceiveBytes,
    },
    /// Give an item a new expiry. Ends in [`Reply::Done`].
    Touch {
        /// Its key.
        key: &'a [u8],
        /// As [`Store::expiry_s`].
        expiry_s: u32,
    },
    /// Store a value. Ends in [`Reply::Done`] with the item's new CAS token.
    Store(Store<'a>),
    /// Remove an item. Ends in [`Reply::Done`].
    Delete {
        /// Its key.
        key: &'a [u8],
        /// Remove it only where it has this CAS token; 0 for no such condition.
        cas: u64,
    },
    /// Get a value with its version. Ends in [`Reply::Value`], whose CAS token is the version, in
    /// [`Reply::Deleted`] or in [`Reply::Absent`]; an item that was stored without a version counts
    /// as absent. The version has [`INCOMPLETE`](crate::INCOMPLETE) set where the server was not
    /// told that all of the key's servers have it. As
    /// [`StoreMode::IfNewer`](crate::StoreMode::IfNewer) for Farcache's servers alone.
    GetVersioned {
        /// Its key.
        key: &'a [u8],
        /// Which one.
        terms: VersionTerms,
        /// Of a longer value only so many bytes come, from its beginning.
        bytes_max: u32,
        /// As with [`Operation::Get`].
        into: ReceiveBytes,
    },
    /// Get a part of a value that lies on several servers, as [`Operation::GetVersioned`] does,
    /// without the header in front of it. Ends in [`Reply::Part`] instead of [`Reply::Value`].
    GetPart {
        /// Its key.
        key: &'a [u8],
        /// As with [`Operation::GetVersioned`].
        terms: VersionTerms,
        /// Where the part goes.
        into: PartRooms,
    },
    /// Get a value that lies on several servers, and that the server which is asked puts together,
    /// as it is told by these bytes (`docs/protocol.md`). Ends in [`Reply::Value`]. As
    /// [`StoreMode::IfNewer`](crate::StoreMode::IfNewer) for Farcache's servers alone.
    GetSpread {
        /// Its key.
        key: &'a [u8],
        /// How it lies there.
        spread: [u8; SPREAD_BYTES],
        /// As with [`Operation::Get`].
        into: ReceiveBytes,
    },
    /// Put a tombstone of a version in place of an item, if the version is newer than what the
    /// server has of the key. Ends in [`Reply::Done`], in [`Reply::Absent`] where there was nothing
    /// to delete (the tombstone stands all the same), or in [`Reply::Older`]. As
    /// [`StoreMode::IfNewer`](crate::StoreMode::IfNewer) for Farcache's servers alone.
    DeleteIfNewer {
        /// Its key.
        key: &'a [u8],
        /// The version.
        version: u64,
        /// How long the tombstone is kept, as [`Store::expiry_s`]; 0 while memory suffices.
        keep_s: u32,
        /// As [`StoreMode::IfPromised`](crate::StoreMode::IfPromised).
        is_promised: bool,
        /// What is kept of the item.
        keeping: Keeping,
    },
    /// Count up or down a decimal number of up to 64 bits. Ends in [`Reply::Number`].
    Arithmetic {
        /// Up or down.
        direction: Direction,
        /// The number's key.
        key: &'a [u8],
        /// By how much.
        delta: u64,
        /// What to create where the key is absent; `None` fails with
        /// [`Error::NotFound`](crate::Error::NotFound).
        initial: Option<Initial>,
    },
    /// Drop every item of one server, now or so many seconds later. Ends in [`Reply::Done`]. Needs
    /// [`Route::Server`] or [`Route::Group`], as do all that follow.
    Flush {
        /// Seconds from now.
        delay_s: u32,
    },
    /// Ask a server for its version. Ends in [`Reply::Text`].
    Version,
    /// Ask a server to answer. Ends in [`Reply::Done`].
    Noop,
    /// Ask a server for statistics. Ends in [`Reply::Statistics`].
    Statistics {
        /// Which: empty, or `settings`, `items`, ...
        group: &'a [u8],
    },
    /// Set how much a server logs. Ends in [`Reply::Done`]. memcached 1.6 knows this in its text
    /// protocol only, and takes the next request for a part of this one: do not send it there.
    Verbosity {
        /// 0 to 2.
        level: u32,
    },
    /// Ask a server for the map of its cluster. Ends in [`Reply::Text`], which is empty where the
    /// server knows no other than the one of this edition; in
    /// [`Error::Unsupported`](crate::Error::Unsupported) where it is in no cluster.
    ClusterMap {
        /// [`farcache_cluster::ClusterMap::edition`] of the map that is known, or 0.
        known_edition: u64,
    },
}

/// What a successful operation brings.
#[derive(Debug)]
pub enum Reply {
    /// A value.
    Value {
        /// In the memory that was given with the operation.
        value: ReceiveBytes,
        /// As stored.
        flags: u32,
        /// The item's CAS token.
        cas: u64,
    },
    /// A part of a value.
    Part {
        /// The header in front of it; shorter where the server has less.
        front: Front,
        /// What is behind the header: a vector, or a place in the memory that was given.
        value: ReceiveBytes,
        /// As stored.
        flags: u32,
        /// The part's version.
        cas: u64,
    },
    /// It is done.
    Done {
        /// The item's CAS token, 0 where there is none.
        cas: u64,
    },
    /// A number, after counting.
    Number {
        /// The number.
        number: u64,
        /// The item's CAS token.
        cas: u64,
    },
    /// Not stored or deleted: the server has something newer, or something else of the version, and
    /// has never had this.
    Older {
        /// The version that a newer one must exceed.
        current: u64,
    },
    /// Not stored or deleted: the server has something newer, and does not know any more whether it
    /// has had this version before.
    Unsure {
        /// The version that a newer one must exceed.
        current: u64,
    },
    /// Not done: the server has promised to take nothing older than another version, or it does not
    /// know of the promise that the request stands on.
    Promised {
        /// The version that a newer one must exceed.
        current: u64,
        /// The server has something newer as well; else only the promise is in the way.
        has_newer: bool,
    },
    /// The key was deleted.
    Deleted {
        /// By this version.
        version: u64,
    },
    /// There is no such item that has a version.
    Absent {
        /// After a deletion its version. After a get: nothing that the server has forgotten of the
        /// key was newer; 0 where it has forgotten nothing.
        version: u64,
    },
    /// A text.
    Text(String),
    /// Names and values, in the server's order.
    Statistics(Vec<(String, String)>),
}

/// Where an operation goes and how long it may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Where it goes.
    pub route: Route<'a>,
    /// How long it may take, instead of [`ClientConfig::timeout`](crate::ClientConfig::timeout).
    pub timeout: Option<Duration>,
}
