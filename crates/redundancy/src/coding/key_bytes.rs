//! The bytes of one key, for whoever runs its plans.

use super::{Outgoing, Parts, Pieces, Workshop};
use crate::plan::Question;
use crate::{Redundancy, Version};
use farcache_cluster::ServerId;

/// What a plan stores, and what servers bring it.
pub struct KeyBytes {
    redundancy: Redundancy,
    /// The value that is to be stored.
    pub outgoing: Outgoing,
    /// What servers have brought.
    pub pieces: Pieces,
    /// The version that was decoded last.
    decoded: Option<Version>,
    has_asked_for_value: bool,
}

impl KeyBytes {
    /// Nothing but what is to be written, if anything is, of a key whose values lie in so many
    /// places.
    pub fn new(redundancy: Redundancy, workshop: &Workshop, parts: Option<Parts>) -> KeyBytes {
        KeyBytes {
            redundancy,
            outgoing: Outgoing::given(parts),
            pieces: Pieces::new(workshop, Vec::new()),
            decoded: None,
            has_asked_for_value: false,
        }
    }

    /// In how many places its values lie.
    pub fn redundancy(&self) -> Redundancy {
        self.redundancy
    }

    /// Computes the shards of what is to be stored, or was decoded.
    pub fn encode(&mut self, workshop: &Workshop) {
        if let Some(version) = self.decoded {
            self.have_parts_of(version, workshop);
        }
        if let Some(parts) = self.outgoing.parts() {
            parts.encode(workshop);
        }
    }

    /// Makes a version's value of what these servers have brought.
    pub fn decode(&mut self, workshop: &Workshop, version: Version, from: &[ServerId]) {
        self.pieces.decode(workshop, version, from);
        self.decoded = Some(version);
    }

    /// Has the parts of a version that was read at hand, to store them where they are missing.
    pub fn have_parts_of(&mut self, version: Version, workshop: &Workshop) {
        let (pieces, redundancy) = (&self.pieces, self.redundancy);
        let make = || pieces.parts(workshop, redundancy, version);
        self.outgoing.have(version, make);
    }

    /// A server is about to be asked this: whether the header of its part is enough. Of copies one
    /// is brought, the others are only asked for their versions, where any version will do.
    pub fn is_header_enough(&mut self, question: Question) -> bool {
        let is_any = matches!(question, Question::Read(None) | Question::Promise(_));
        let is_copy = !matches!(self.redundancy, Redundancy::Erasure(_));
        let has_asked = std::mem::replace(&mut self.has_asked_for_value, true);
        is_any && is_copy && has_asked
    }
}
