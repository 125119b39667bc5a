//! What a plan stores, and what servers bring it: its questions become operations, and replies
//! become its answers. It asks nobody, and knows no clock.

use super::change::Present;
use crate::{
    Error, Keeping, Operation, PartRooms, ReceiveBytes, Reply, SendBytes, Store, StoreMode,
    VersionTerms,
};
use farcache_cluster::ServerId;
use farcache_proto::binary::INCOMPLETE;
use farcache_redundancy::coding::{KeyBytes, LentPart, Outgoing, Parts, Pieces, Sent, Workshop};
use farcache_redundancy::plan::{self, Answer, Held, Part, Question};
use farcache_redundancy::stored::HEADER_BYTES;
use farcache_redundancy::{Redundancy, Version};

/// A part of a value of so many bytes is sent from where it lies, if that can be, and travels while
/// the next one is made ready. Parts of a shorter one are copied, and sent together.
pub(super) const LONG_VALUE_BYTES: usize = 16 << 10;

/// The bytes of one key.
pub(super) struct Cargo {
    bytes: KeyBytes,
    /// Where what servers bring goes; none when the value's memory is with the pieces.
    rooms: Option<PartRooms>,
    was_present: bool,
    /// Why a server that was to accept a version will not take it.
    refusal: Option<Error>,
    /// The newest version that a server has told of.
    newest: u64,
}

impl Cargo {
    /// Nothing yet, for a key whose values lie in so many places.
    pub fn new(redundancy: Redundancy, workshop: &Workshop) -> Cargo {
        Cargo {
            bytes: KeyBytes::new(redundancy, workshop, None),
            rooms: None,
            was_present: false,
            refusal: None,
            newest: 0,
        }
    }

    /// The value that is to be stored.
    pub fn give(&mut self, parts: Option<Parts>) {
        self.bytes.outgoing = Outgoing::given(parts);
    }

    /// Has the bytes at hand that this question is about, if they are a part of this value that
    /// is to be stored; whether they are many.
    pub fn copy(&mut self, question: Question, value: &[u8]) -> bool {
        let (Some(parts), Question::Accept(_, part)) = (self.bytes.outgoing.parts(), question)
        else {
            return false;
        };
        parts.copy(part, value);
        value.len() >= LONG_VALUE_BYTES
    }

    /// Has all of this value at hand, which is to be stored.
    pub fn copy_all(&mut self, value: &[u8]) {
        if let Some(parts) = self.bytes.outgoing.parts() {
            parts.copy_all(value);
        }
    }

    /// The value that was to be stored.
    pub fn take_parts(&mut self) -> Option<Parts> {
        self.bytes.outgoing.take()
    }

    /// Room for the value that is read.
    pub fn receive_into(&mut self, workshop: &Workshop, room: Vec<u8>) {
        self.bytes.pieces = Pieces::new(workshop, Vec::new());
        let (redundancy, pool) = (self.bytes.redundancy(), &workshop.pool);
        self.rooms = Some(PartRooms::new(redundancy, pool, room));
    }

    /// Has the value's memory be with the pieces, where no more parts come into it.
    fn gather(&mut self) {
        let Some(rooms) = self.rooms.take() else {
            return;
        };
        // Otherwise what has come is copied: the network is not done with the memory.
        if let Some(memory) = rooms.close(self.bytes.pieces.lent_count()) {
            self.bytes.pieces.adopt(|| memory.take());
        }
    }

    /// What servers have brought.
    pub fn take_pieces(&mut self, workshop: &Workshop) -> Pieces {
        self.gather();
        std::mem::replace(&mut self.bytes.pieces, Pieces::new(workshop, Vec::new()))
    }

    /// The value of a version that servers have brought, with what goes with it.
    pub fn take_present(&mut self, version: Version) -> Option<Present> {
        self.gather();
        let expiry_unix = self.bytes.pieces.expiry_unix(version)?;
        let (value, flags) = self.bytes.pieces.take_value(version)?;
        Some(Present {
            value,
            flags,
            expiry_unix,
            cas: version.bits(),
        })
    }

    /// Whether a server has something that this policy cannot have stored.
    pub fn has_foreign(&self) -> bool {
        self.bytes.pieces.has_foreign()
    }

    /// The newest version of which any server has told that it holds a part.
    pub fn newest(&self) -> Option<Version> {
        Version::from_bits(self.newest)
    }

    /// Whether a server has deleted a value.
    pub fn was_present(&self) -> bool {
        self.was_present
    }

    /// A server has not accepted what it was sent, and not for a newer version.
    pub fn refuse(&mut self, why: Error) {
        self.refusal = Some(why);
    }

    /// Why a server has not accepted what it was sent, where that was not for a newer version.
    pub fn take_refusal(&mut self) -> Option<Error> {
        self.refusal.take()
    }

    /// Computes the shards of what is to be stored, or was decoded.
    pub fn encode(&mut self, workshop: &Workshop) {
        self.bytes.encode(workshop);
    }

    /// Makes a version's value of what these servers have brought.
    pub fn decode(&mut self, workshop: &Workshop, version: Version, from: &[ServerId]) {
        self.gather();
        self.bytes.decode(workshop, version, from);
    }

    /// The operation that asks a server this; none where it is about bytes that are not at hand.
    pub fn operation<'a>(
        &mut self,
        workshop: &Workshop,
        key: &'a [u8],
        question: Question,
    ) -> Option<Operation<'a>> {
        let is_promised = matches!(question, Question::AcceptPromised(..));
        match question {
            Question::Accept(version, part) | Question::AcceptPromised(version, part) => {
                let keeping = question.keeping(self.bytes.redundancy());
                self.store(key, (version, part), is_promised, keeping)
            }
            Question::Store(version, part) => {
                self.bytes.have_parts_of(version, workshop);
                let keeping = question.keeping(self.bytes.redundancy());
                self.store(key, (version, part), false, keeping)
            }
            Question::Read(_) => Some(self.get(workshop, key, question, VersionTerms::Newest)),
            Question::Promise(version) => {
                let terms = VersionTerms::Promise(version.bits());
                Some(self.get(workshop, key, question, terms))
            }
            Question::Beneath(version) => {
                let terms = VersionTerms::Beneath(version.bits());
                Some(self.get(workshop, key, question, terms))
            }
            Question::Complete(_) => None,
        }
    }

    fn store<'a>(
        &mut self,
        key: &'a [u8],
        (version, part): (Version, Part),
        is_promised: bool,
        keeping: Keeping,
    ) -> Option<Operation<'a>> {
        if part == Part::Tombstone {
            return Some(Operation::DeleteIfNewer {
                key,
                version: version.bits(),
                keep_s: 0,
                is_promised,
                keeping,
            });
        }
        let parts = self.bytes.outgoing.parts()?;
        let lent = parts.lent(part, version).filter(|_| !is_promised);
        let (mode, value) = match lent {
            Some(LentPart {
                header,
                value,
                range,
            }) => (
                StoreMode::IfNewerBehind(keeping, header),
                SendBytes::part_of(value, range),
            ),
            None if is_promised => (
                StoreMode::IfPromised(keeping),
                parts.of(part, version).into(),
            ),
            None => (StoreMode::IfNewer(keeping), parts.of(part, version).into()),
        };
        Some(Operation::Store(Store {
            mode,
            key,
            value: value.into(),
            flags: parts.flags,
            expiry_s: parts.expiry_unix,
            cas: version.bits(),
        }))
    }

    fn get<'a>(
        &mut self,
        workshop: &Workshop,
        key: &'a [u8],
        question: Question,
        terms: VersionTerms,
    ) -> Operation<'a> {
        if self.bytes.is_header_enough(question) {
            return Operation::GetVersioned {
                key,
                terms,
                bytes_max: HEADER_BYTES as u32,
                into: ReceiveBytes::default(),
            };
        }
        let into = match &self.rooms {
            Some(rooms) => rooms.clone(),
            None => PartRooms::apart(self.bytes.redundancy(), &workshop.pool),
        };
        Operation::GetPart { key, terms, into }
    }

    /// Takes what a server has replied; what that is to the plan. `is_late` tells whether the operation's
    /// time is over.
    ///
    /// # Errors
    /// It ends the operation.
    pub fn take(
        &mut self,
        asked: &plan::Request,
        reply: Reply,
        is_late: impl Fn() -> bool,
    ) -> Result<plan::Reply, Error> {
        if let Reply::Value { cas: version, .. }
        | Reply::Part { cas: version, .. }
        | Reply::Deleted { version } = reply
        {
            self.newest = self.newest.max(version & !INCOMPLETE);
        }
        match asked.question {
            // Who was stopped for so long does not know what was made of the version meanwhile, and
            // must not go above it.
            Question::Accept(..)
                if matches!(reply, Reply::Older { .. } | Reply::Unsure { .. }) && is_late() =>
            {
                Err(Error::Timeout)
            }
            Question::Accept(_, part)
            | Question::AcceptPromised(_, part)
            | Question::Store(_, part) => self.stored(part, reply),
            Question::Read(_) | Question::Promise(_) | Question::Beneath(_) => {
                self.brought(asked.to, reply)
            }
            Question::Complete(_) => Err(OTHER_REPLY),
        }
    }

    fn stored(&mut self, part: Part, reply: Reply) -> Result<plan::Reply, Error> {
        Ok(match reply {
            Reply::Older { current } => plan::Reply::Refused {
                current: refused_for(current)?,
            },
            Reply::Unsure { current } => plan::Reply::Unsure {
                current: refused_for(current)?,
            },
            Reply::Promised { current, has_newer } => plan::Reply::Promised {
                current: refused_for(current)?,
                has_newer,
            },
            Reply::Done { .. } => {
                let was_present = part == Part::Tombstone;
                self.was_present |= was_present;
                plan::Reply::Stored { was_present }
            }
            Reply::Absent { .. } => plan::Reply::Stored { was_present: false },
            _ => return Err(OTHER_REPLY),
        })
    }

    fn brought(&mut self, from: ServerId, reply: Reply) -> Result<plan::Reply, Error> {
        let (mut answer, redundancy) = (Answer::default(), self.bytes.redundancy());
        let told = match reply {
            Reply::Value { value, flags, cas } => {
                let brought = (value.into_vec(), flags, cas & !INCOMPLETE);
                answer = self.bytes.pieces.take(redundancy, from, brought);
                cas
            }
            Reply::Part {
                front,
                mut value,
                flags,
                cas,
            } => {
                let sent = match value.owned().is_some() {
                    true => Sent::Apart(value.into_vec()),
                    false => Sent::InPlace(Box::new(value)),
                };
                let told = (sent, flags, cas & !INCOMPLETE);
                answer = self.bytes.pieces.take_apart(redundancy, from, &front, told);
                cas
            }
            Reply::Deleted { version } => {
                if let Some(version) = Version::from_bits(version & !INCOMPLETE) {
                    let part = Part::Tombstone;
                    answer.held.push(Held { version, part });
                }
                version
            }
            Reply::Absent { version } => {
                answer.dropped = Version::from_bits(version);
                0
            }
            Reply::Promised { current, has_newer } => {
                let current = refused_for(current)?;
                return Ok(plan::Reply::Promised { current, has_newer });
            }
            _ => return Err(OTHER_REPLY),
        };
        Ok(plan::Reply::Answer(answer.marked(told & INCOMPLETE != 0)))
    }
}

const OTHER_REPLY: Error = Error::Protocol("the answer to another question");

fn refused_for(current: u64) -> Result<Version, Error> {
    Version::from_bits(current).ok_or(Error::Protocol("a refusal without a version"))
}

#[cfg(test)]
mod tests;
