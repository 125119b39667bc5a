//! The other owners, and how far their lists have been gone through.

use super::exchange::Cursor;
use crate::Version;
use farcache_cluster::ServerId;

/// Another owner, whose list this server goes through.
pub(super) struct Source {
    pub server: ServerId,
    pub cursor: Cursor,
    pub used_only: bool,
    pub is_caught_up: bool,
    /// Up to which version it has forgotten keys.
    pub forgotten: Option<Version>,
    pub state: SourceState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceState {
    /// It has not answered yet in this pass.
    Greeted,
    Open,
    /// A page is on its way.
    Asked,
    Ended,
    Away,
}

impl Source {
    /// From the beginning, once it has said how it stands.
    pub fn new(server: ServerId) -> Source {
        Source {
            server,
            cursor: Cursor::default(),
            used_only: true,
            is_caught_up: false,
            forgotten: None,
            state: SourceState::Greeted,
        }
    }

    pub fn is_away(&self) -> bool {
        self.state == SourceState::Away
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.state, SourceState::Ended | SourceState::Away)
    }

    /// How much of its list is done, in 1024ths; `progress` tells it of a place in the list.
    pub fn progress(&self, progress: impl Fn(&Cursor) -> u64) -> u64 {
        match self.state {
            SourceState::Ended | SourceState::Away => 1024,
            _ if self.used_only => progress(&self.cursor) / 8,
            _ => 128 + progress(&self.cursor) * 7 / 8,
        }
    }

    /// Takes note of a page: whether its entries count, which they do where one was asked for.
    pub fn note_page(&mut self, next: Option<Cursor>) -> bool {
        let was_asked = self.state == SourceState::Asked;
        match (self.state, next) {
            // It was asked for its state only.
            (SourceState::Greeted, _) => self.state = SourceState::Open,
            (SourceState::Asked, Some(next)) => {
                (self.state, self.cursor) = (SourceState::Open, next);
            }
            (SourceState::Asked, None) if self.used_only => {
                self.state = SourceState::Open;
                (self.used_only, self.cursor) = (false, Cursor::default());
            }
            (SourceState::Asked, None) => self.state = SourceState::Ended,
            _ => {}
        }
        was_asked
    }
}
