//! The other owners, and how far their lists, and this server's own, have been gone through.

use super::exchange::{Action, Cursor, OwnItems};
use crate::Version;
use farcache_cluster::ServerId;

/// All lists of a pass.
#[derive(Default)]
pub(super) struct Sources {
    others: Vec<Source>,
    own: Own,
    /// Whose list was asked for last, and whether for what is used only.
    listing: Option<(ServerId, bool)>,
}

/// This server's own list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Own {
    Open,
    Asked,
    #[default]
    Ended,
}

impl Sources {
    /// From the beginning; what this server has is gone through where it catches up.
    pub fn new(others: impl Iterator<Item = ServerId>, is_catching_up: bool) -> Sources {
        Sources {
            others: others.map(Source::new).collect(),
            own: match is_catching_up {
                true => Own::Open,
                false => Own::Ended,
            },
            listing: None,
        }
    }

    /// Asks all others how they stand: what one has forgotten counts only if it has caught up.
    pub fn greet(&self) -> impl Iterator<Item = Action> {
        self.others.iter().map(|source| source.list(0))
    }

    /// The next page that is to be asked for, of so many entries; none while one is on its way.
    /// `is_busy` tells whether keys of other pages are being mended.
    pub fn next_page(
        &mut self,
        entries_max: u16,
        is_busy: bool,
        ended_at_return: Option<Version>,
    ) -> Option<Action> {
        let awaits = |state| self.others.iter().any(|source| source.state == state);
        let is_one_on_its_way = self.own == Own::Asked || awaits(SourceState::Asked);
        if is_one_on_its_way || awaits(SourceState::Greeted) {
            return None;
        }
        // What is read often first, of all sources.
        let open = self.others.iter_mut();
        let open = open.filter(|source| source.state == SourceState::Open);
        if let Some(source) = open.min_by_key(|source| !source.used_only) {
            let next = Some((source.server, source.used_only));
            // What a page names is looked for here when it comes, so what other lists have named is
            // to be here by then. A list names each key once.
            if is_busy && next != self.listing {
                return None;
            }
            source.state = SourceState::Asked;
            self.listing = next;
            return Some(source.list(entries_max));
        }
        if self.own != Own::Open || is_busy {
            return None;
        }
        self.own = Own::Asked;
        Some(Action::ListOwn(self.own_items(ended_at_return)))
    }

    /// What others have forgotten may be a deletion that has begun without this server, of
    /// something that it had fetched by then.
    fn own_items(&self, ended_at_return: Option<Version>) -> OwnItems {
        let mut others = self.others.iter();
        match others.any(|source| source.forgotten > ended_at_return) {
            true => OwnItems::AllSettled,
            false => OwnItems::FromBefore,
        }
    }

    /// A page of another one's list has come, with how that one stands: whether its entries count.
    pub fn note_page(
        &mut self,
        from: ServerId,
        next: Option<Cursor>,
        (is_caught_up, forgotten): (bool, Option<Version>),
    ) -> bool {
        self.source(from).is_some_and(|source| {
            (source.is_caught_up, source.forgotten) = (is_caught_up, forgotten);
            source.note_page(next)
        })
    }

    /// A page of this server's own list has come.
    pub fn note_own_page(&mut self, is_last: bool) {
        self.own = if is_last { Own::Ended } else { Own::Open };
    }

    /// A server is gone; whether it was there.
    pub fn note_away(&mut self, server: ServerId) -> bool {
        let source = self.source(server).filter(|source| !source.is_away());
        source.is_some_and(|source| {
            (source.state, source.is_caught_up) = (SourceState::Away, false);
            true
        })
    }

    fn source(&mut self, server: ServerId) -> Option<&mut Source> {
        self.others.iter_mut().find(|one| one.server == server)
    }

    /// Whether a server can be asked.
    pub fn has(&self, server: ServerId) -> bool {
        let mut others = self.others.iter();
        others.any(|one| one.server == server && !one.is_away())
    }

    /// Whether a server has caught up.
    pub fn is_caught_up(&self, server: ServerId) -> bool {
        let mut others = self.others.iter();
        others.any(|one| one.server == server && one.is_caught_up)
    }

    /// Whether all lists have been gone through, as far as they can be.
    pub fn have_ended(&self) -> bool {
        self.own == Own::Ended && self.others.iter().all(Source::has_ended)
    }

    /// How much of the others' lists is done, in 1024ths; `progress` tells it of a place in a list.
    pub fn progress(&self, progress: impl Fn(&Cursor) -> u64) -> u64 {
        let of_each = self.others.iter().map(|one| one.progress(&progress));
        let sum: u64 = of_each.sum();
        match self.others.len() as u64 {
            0 => 1024,
            count => sum / count,
        }
    }
}

/// Another owner, whose list this server goes through.
struct Source {
    server: ServerId,
    cursor: Cursor,
    used_only: bool,
    is_caught_up: bool,
    /// Up to which version it has forgotten keys.
    forgotten: Option<Version>,
    state: SourceState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourceState {
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
    fn new(server: ServerId) -> Source {
        Source {
            server,
            cursor: Cursor::default(),
            used_only: true,
            is_caught_up: false,
            forgotten: None,
            state: SourceState::Greeted,
        }
    }

    /// Asks for its next page.
    fn list(&self, entries_max: u16) -> Action {
        Action::List {
            from: self.server,
            cursor: self.cursor,
            used_only: self.used_only,
            entries_max,
        }
    }

    fn is_away(&self) -> bool {
        self.state == SourceState::Away
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, SourceState::Ended | SourceState::Away)
    }

    /// How much of its list is done, in 1024ths; `progress` tells it of a place in the list.
    fn progress(&self, progress: impl Fn(&Cursor) -> u64) -> u64 {
        match self.state {
            SourceState::Ended | SourceState::Away => 1024,
            _ if self.used_only => progress(&self.cursor) / 8,
            _ => 128 + progress(&self.cursor) * 7 / 8,
        }
    }

    /// Takes note of a page: whether its entries count, which they do where one was asked for.
    fn note_page(&mut self, next: Option<Cursor>) -> bool {
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
