//! Plans: what a reader or writer asks of which server, and what it makes of the answers.
//!
//! A plan does no I/O and holds no bytes of values. Events go in (what a server answered, a newer
//! map), actions come out (ask this of that server, encode, decode, tell the caller). The rules are
//! those of `docs/design/redundancy.md`; comments name them by their numbers there. Who runs a plan
//! keeps the bytes, measures the time, and says of a request that gets no answer that it is lost.

mod accepting;
mod answers;
mod asking;
mod findings;
mod group;
mod layout;
mod owners;
mod read;
pub mod repair;
mod round;
mod settling;
mod storing;
mod write;

pub use group::Group;
pub use owners::KnownOwners;
pub use read::{Found, Read, ReadOutcome};
pub use settling::{Settled, pause_before};
pub use write::{Write, WriteOutcome};

use crate::{Holders, Redundancy, Version};
use arrayvec::ArrayVec;
use farcache_base::version::Keeping;
use farcache_cluster::{OWNERS_MAX, ServerId};
use farcache_erasure::Scheme;

/// How often a request is repeated by one map before its plan gives up.
pub const TRIES_MAX: u8 = 5;

/// Whether somebody sees to it that a server that was away answers only when it has caught up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fencing {
    /// By rules 1, 2 and 8: one server that accepts a version knows all that was complete, and what
    /// k answers have in common suffices.
    #[default]
    Kept,
    /// Nobody does. As many servers as a write must reach accept a version, and as many answers are
    /// taken, so that one of them at least knows the newest acknowledged write; that nothing is
    /// there must be said by all.
    None,
}

/// In what form a write is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The whole value at these owners, its version at the others.
    Copies(Holders),
    /// A shard at each owner.
    Shards(Scheme),
    /// A deletion, whole at each owner.
    Tombstone,
}

impl Form {
    /// The form in which this redundancy stores a value, which is as long as `is_small` says: below
    /// the policy's threshold or not.
    pub fn of_value(redundancy: Redundancy, is_small: bool) -> Form {
        match redundancy {
            Redundancy::Erasure(scheme) if !is_small => Form::Shards(scheme),
            _ => Form::Copies(redundancy.holders()),
        }
    }

    /// What the owner at this position of the ring stores, where no other map came before.
    pub fn part_at(self, position: usize) -> Part {
        match self {
            Form::Copies(holders) if holders.has(position) => Part::Copy,
            Form::Copies(_) => Part::Witness,
            Form::Shards(_) => Part::Shard(position as u8),
            Form::Tombstone => Part::Tombstone,
        }
    }
}

/// What one server stores of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The whole value.
    Copy,
    /// The version alone, of a value that others have.
    Witness,
    /// The shard of this number.
    Shard(u8),
    /// That the key is deleted.
    Tombstone,
}

/// A plan's name for a request, so that the answer finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// What a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// To accept a version (rule 3): a server that is caught up refuses it if it has, or knows of,
    /// a newer one, or another write of the same version.
    Accept(Version, Part),
    /// To accept a version for which it has given its promise, while that stands (rule 10): until
    /// then nothing else was stored there.
    AcceptPromised(Version, Part),
    /// To store a version that has been accepted (rule 4). Nothing but a promise is in its way.
    Store(Version, Part),
    /// To promise that nothing older than this version is stored from now on (rule 10), and to tell
    /// what it holds, with the bytes of the newest.
    Promise(Version),
    /// What it holds, with the bytes of this version, or of the newest that it holds.
    Read(Option<Version>),
    /// What it had when it stored this version, which it has told of, with the bytes.
    Beneath(Version),
    /// To take note that a version is complete (rule 6). The answer, if there is one, is passed
    /// over.
    Complete(Version),
}

impl Question {
    /// Whether it changes nothing at its server but promises.
    pub fn is_read(self) -> bool {
        matches!(
            self,
            Question::Read(_) | Question::Promise(_) | Question::Beneath(_)
        )
    }

    /// What a server that is to store something keeps besides the newest version, of a key whose
    /// values lie in so many places.
    pub fn keeping(self, redundancy: Redundancy) -> Keeping {
        match self {
            _ if !redundancy.keeps_older() => Keeping::Nothing,
            Question::Store(..) => Keeping::OlderAndThis,
            _ => Keeping::Older,
        }
    }
}

/// A request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// To be told with the answer.
    pub id: RequestId,
    /// Whom to ask.
    pub to: ServerId,
    /// The epoch of the map by which it is asked (rule 1).
    pub epoch: u64,
    /// What is asked.
    pub question: Question,
}

/// A version that a server holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which one.
    pub version: Version,
    /// What it has of it.
    pub part: Part,
}

/// Most versions of a key that a server tells of. It keeps more only while more writers than this
/// are between their first store and their last.
pub const HELD_MAX: usize = 8;

/// What a server says of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The newest versions that it holds.
    pub held: ArrayVec<Held, HELD_MAX>,
    /// The newest version of which it knows that it is complete.
    pub complete: Option<Version>,
    /// The version that it holds and was not told to be complete. Where nobody fences, a server
    /// says so of what was stored there of late; what it does not say so of counts as complete.
    pub incomplete: Option<Version>,
    /// The version whose bytes came along.
    pub brought: Option<Version>,
    /// Where it holds nothing: whatever it has forgotten of the key was not newer than this.
    pub dropped: Option<Version>,
}

impl Answer {
    /// What it holds of a version.
    pub(crate) fn part_of(&self, version: Version) -> Option<Part> {
        let held = self.held.iter().find(|held| held.version == version);
        held.map(|held| held.part)
    }

    /// The same of a server that holds one version at most, and was not told that it is complete if
    /// `is_incomplete`.
    #[must_use]
    pub fn marked(self, is_incomplete: bool) -> Answer {
        let held = self.held.first().map(|held| held.version);
        Answer {
            incomplete: held.filter(|_| is_incomplete),
            ..self
        }
    }
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The version is stored, or something newer is complete.
    Stored {
        /// Whether it had a value of the key before, which is what a DELETE tells its caller.
        was_present: bool,
    },
    /// The version is not accepted, or not stored: there is something newer, and the server has
    /// never had the version. One that has had it says that it is stored, whatever came since.
    Refused {
        /// What a newer version must exceed.
        current: Version,
    },
    /// The version is not accepted, or not stored: there is something newer, and the server does
    /// not know any more whether it has had the version.
    Unsure {
        /// What a newer version must exceed.
        current: Version,
    },
    /// The version is not stored: a newer one was promised, or the promise that it stands on is not
    /// known (rule 10).
    Promised {
        /// What a newer version must exceed.
        current: Version,
        /// Something newer is there as well; else it would be stored but for the promise.
        has_newer: bool,
    },
    /// To a read.
    Answer(Answer),
    /// It is not caught up, so that it neither accepts nor answers reads.
    NotReady,
    /// It knows a newer map. The plan goes on when it is given one.
    NewerMap,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A server has answered.
    Reply(RequestId, Reply),
    /// There will be no answer, or it has taken too long. An answer that comes later is passed
    /// over.
    Lost(RequestId),
    /// There is a newer map.
    Map(Group),
    /// All shards of the version in question are at hand.
    Encoded,
    /// The value of the version in question is at hand.
    Decoded,
    /// Those asked take longer than usual: another one may be faster.
    Slow,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<Outcome> {
    /// A server is to be asked.
    Ask(Request),
    /// All shards of the value at hand are to be made; then [`Event::Encoded`].
    Encode,
    /// The value is to be made from the shards that these servers brought; then
    /// [`Event::Decoded`].
    Decode(Version, ArrayVec<ServerId, OWNERS_MAX>),
    /// The caller is to be told. What comes behind it is for the servers only.
    Done(Outcome),
}
