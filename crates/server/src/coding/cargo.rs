//! What a plan stores, and what owners bring it. The Rust client's `redundant/cargo.rs` does the
//! same, with operations of its own.

use super::packets::{self, Answered};
use farcache_cluster::ServerId;
use farcache_proto::binary::{Status, Told};
use farcache_redundancy::coding::{KeyBytes, Parts, Workshop};
use farcache_redundancy::plan::{self, Part, Question};
use farcache_redundancy::stored::HEADER_BYTES;
use farcache_redundancy::{Redundancy, Version};
use std::sync::Arc;

/// A request to an owner: its packet, and the part that goes behind it.
pub struct Packet {
    head: Vec<u8>,
    part: Option<Arc<Vec<u8>>>,
}

impl Packet {
    /// What it is made of.
    pub fn pieces(&self) -> arrayvec::ArrayVec<&[u8], 2> {
        let part = self.part.iter().map(|part| &part[..]);
        std::iter::once(&self.head[..]).chain(part).collect()
    }
}

impl From<Vec<u8>> for Packet {
    fn from(head: Vec<u8>) -> Packet {
        Packet { head, part: None }
    }
}

/// What comes of an owner's answer.
pub enum Taken {
    /// The plan is told this.
    Reply(plan::Reply),
    /// The owner gives the key to others.
    Elsewhere,
    /// It says nothing that helps.
    Nothing,
}

/// The bytes of one key.
pub struct Cargo {
    bytes: KeyBytes,
    /// Why an owner that was to accept a version will not take it.
    refused: Option<Status>,
}

impl Cargo {
    /// Nothing but what is to be written, if anything is.
    pub fn new(redundancy: Redundancy, workshop: &Workshop, parts: Option<Parts>) -> Cargo {
        Cargo {
            bytes: KeyBytes::new(redundancy, workshop, parts),
            refused: None,
        }
    }

    /// Why an owner has not accepted what it was sent, where that was not for a newer version.
    pub fn refused(&self) -> Option<Status> {
        self.refused
    }

    /// The value of a version that owners have brought, with its flags.
    pub fn take_value(&mut self, version: Version) -> Option<(Vec<u8>, u32)> {
        self.bytes.pieces.take_value(version)
    }

    /// Computes the shards of what is to be stored, or was decoded.
    pub fn encode(&mut self, workshop: &Workshop) {
        self.bytes.encode(workshop);
    }

    /// Makes a version's value of what these owners have brought.
    pub fn decode(&mut self, workshop: &Workshop, version: Version, from: &[ServerId]) {
        self.bytes.decode(workshop, version, from);
    }

    /// What asks an owner this; none where it is about bytes that are not at hand. It tells what is
    /// `told` besides.
    pub fn packet(
        &mut self,
        key: &[u8],
        question: Question,
        workshop: &Workshop,
        told: impl FnOnce() -> Told,
    ) -> Option<Packet> {
        let (version, part) = match question {
            Question::Accept(version, part) | Question::AcceptPromised(version, part) => {
                (version, part)
            }
            Question::Store(version, part) => {
                self.bytes.have_parts_of(version, workshop);
                (version, part)
            }
            Question::Beneath(version) => {
                let beneath = Some(version);
                let bytes_max = self.bytes_wanted(question);
                return Some(packets::get(key, beneath, bytes_max, told()).into());
            }
            // No plan of a server's asks for promises.
            Question::Promise(_) | Question::Complete(_) => return None,
            Question::Read(_) => {
                let bytes_max = self.bytes_wanted(question);
                return Some(packets::get(key, None, bytes_max, told()).into());
            }
        };
        let what = (version, question.keeping(self.bytes.redundancy()));
        if part == Part::Tombstone {
            return Some(packets::delete(key, what, told()).into());
        }
        let parts = self.bytes.outgoing.parts()?;
        let bytes = parts.of(part, version);
        let head = packets::store(key, what, (parts, bytes.len()), told());
        let part = Some(bytes);
        Some(Packet { head, part })
    }

    fn bytes_wanted(&mut self, question: Question) -> u32 {
        match self.bytes.is_header_enough(question) {
            true => HEADER_BYTES as u32,
            false => u32::MAX,
        }
    }

    /// What comes of an owner's answer.
    pub fn take(&mut self, asked: &plan::Request, answer: &[u8]) -> Taken {
        Taken::Reply(match packets::read(asked.question, answer) {
            Answered::Plain(reply) => reply,
            Answered::Has(reply) if reply.is_success() => {
                let brought = (reply.value.to_vec(), reply.flags, reply.cas);
                let redundancy = self.bytes.redundancy();
                let answer = self.bytes.pieces.take(redundancy, asked.to, brought);
                plan::Reply::Answer(answer.marked(reply.is_incomplete))
            }
            Answered::Has(reply) => plan::Reply::Answer(packets::without_value(&reply)),
            Answered::Refused(status) => {
                self.refused = Some(status);
                plan::Reply::NotReady
            }
            Answered::Elsewhere => return Taken::Elsewhere,
            Answered::Nothing => return Taken::Nothing,
        })
    }
}
