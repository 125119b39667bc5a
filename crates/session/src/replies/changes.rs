//! Replies to changes, which are replaced by errors where the changes do not become durable.

use farcache_peers::frame::{Head, Kind};
use farcache_proto::binary::{Header, MAGIC_RESPONSE, Status, encode_head};
use std::ops::Range;

/// The reply to a change, which may be empty.
pub(super) struct Change {
    pub(super) bytes: Range<usize>,
    /// The pinned values that belong to it.
    pub(super) pinned: Range<usize>,
    /// What takes its place if the change does not become durable.
    pub(super) error: ChangeError,
}

/// What a client is told of a change that does not become durable.
#[derive(Clone, Copy)]
pub(crate) enum ChangeError {
    /// A line.
    Line,
    /// A response to the request with this header.
    Packet(Header),
    /// A frame to a peer that asked with this number, from a server whose map has this epoch.
    Frame { number: u32, epoch: u64 },
}

/// The line that says that a change will not become durable.
pub(super) const NOT_DURABLE: &str = "SERVER_ERROR not durable: no SSD is in service\r\n";

impl ChangeError {
    pub(super) fn write(self, buffer: &mut Vec<u8>) {
        match self {
            ChangeError::Line => buffer.extend_from_slice(NOT_DURABLE.as_bytes()),
            ChangeError::Packet(request) => {
                let header = Header {
                    magic: MAGIC_RESPONSE,
                    opcode: request.opcode,
                    opaque: request.opaque,
                    status: Status::NotDurable as u16,
                    ..Header::default()
                };
                let text = Status::NotDurable.text().as_bytes();
                encode_head(header, &[], &[], text.len(), buffer);
                buffer.extend_from_slice(text);
            }
            ChangeError::Frame { number, epoch } => {
                let head = Head {
                    kind: Kind::NotDurable,
                    number,
                    epoch,
                    body_bytes: 0,
                };
                buffer.extend_from_slice(&head.encode());
            }
        }
    }
}

/// The replies to changes among all replies, in order.
#[derive(Default)]
pub(super) struct Changes {
    /// Whether they are noted, because they may have to be replaced.
    are_noted: bool,
    list: Vec<Change>,
}

impl Changes {
    /// From now on they are noted, or not.
    pub(super) fn set_noted(&mut self, are_noted: bool) {
        self.are_noted = are_noted;
    }

    /// Notes one, if they are noted.
    #[inline]
    pub(super) fn note(&mut self, change: Change) {
        if self.are_noted {
            self.list.push(change);
        }
    }

    /// How many were noted.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets all but the first so many.
    pub(super) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
    }

    /// Takes all changes noted so far.
    pub(super) fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.list)
    }
}
