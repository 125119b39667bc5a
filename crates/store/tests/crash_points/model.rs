//! What each key may hold after a crash at any moment of a life.
//!
//! A moment is a number of entries of the recorder. A change that had begun before it may be there;
//! a change that was known to be durable by then must be, and nothing older may.

use std::sync::Arc;

/// What a key holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Item {
    pub value: Arc<[u8]>,
    /// Unix time, in seconds; 0 for never.
    pub expiry: i64,
}

/// An item, or none.
pub type State = Option<Item>;

/// The state as a reader at this time finds it.
pub fn at_time(state: &State, now: i64) -> State {
    let item = state.as_ref();
    item.filter(|item| item.expiry == 0 || item.expiry > now)
        .cloned()
}

impl std::fmt::Debug for Item {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = String::from_utf8_lossy(&self.value[..self.value.len().min(24)]).into_owned();
        let (bytes, expiry) = (self.value.len(), self.expiry);
        write!(formatter, "{start:?} ({bytes} bytes, expiry {expiry})")
    }
}

struct Change {
    /// Among all changes of the life.
    number: usize,
    /// Entries when it began.
    begun: usize,
    state: State,
}

struct History {
    /// What it could hold when the life began.
    before: Vec<State>,
    /// What it was found to hold then.
    found: State,
    changes: Vec<Change>,
    /// Moments from which the state after so many changes is known to be on a device.
    resident: Vec<(usize, usize)>,
}

/// A moment from which all changes below a number are known to be durable.
struct Mark {
    position: usize,
    changes: usize,
    /// Whether what they stored is, too, and not only that what was there before is gone.
    keeps: bool,
}

/// What the keys held in one life of the store.
pub struct Model {
    keys: Vec<History>,
    /// Entries when all keys had been looked at; none until then.
    opened: Option<usize>,
    changes: usize,
    marks: Vec<Mark>,
    /// Items may be given up for lack of room.
    pub evicts: bool,
    /// When a device went, and how many changes had been made.
    lost: Option<(usize, usize)>,
}

impl Model {
    /// A life that begins when each key may hold one of these.
    pub fn new(before: Vec<Vec<State>>, evicts: bool) -> Model {
        let history = |before| History {
            before,
            found: None,
            changes: Vec::new(),
            resident: Vec::new(),
        };
        Model {
            keys: before.into_iter().map(history).collect(),
            opened: None,
            changes: 0,
            marks: Vec::new(),
            evicts,
            lost: None,
        }
    }

    /// Notes what the keys were found to hold when the store was open; an error if one of them may
    /// not.
    pub fn note_found(
        &mut self,
        found: Vec<State>,
        position: usize,
        now: i64,
    ) -> Result<(), String> {
        for (number, (history, found)) in self.keys.iter_mut().zip(found).enumerate() {
            let is_found = |state: &State| at_time(state, now) == found;
            if !history.before.iter().any(is_found) {
                let possible = &history.before;
                return Err(format!("key {number} is {found:?}, not of {possible:?}"));
            }
            history.found = found;
        }
        self.opened = Some(position);
        Ok(())
    }

    /// What a key holds now.
    pub fn current(&self, key: usize) -> &State {
        let history = &self.keys[key];
        let newest = history.changes.last();
        newest.map_or(&history.found, |change| &change.state)
    }

    /// Notes a change that began when there were so many entries.
    pub fn change(&mut self, key: usize, begun: usize, state: State) {
        let number = self.changes;
        self.changes += 1;
        self.keys[key].changes.push(Change {
            number,
            begun,
            state,
        });
    }

    /// Number of changes so far.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// Changes below a number are durable from now on.
    pub fn mark(&mut self, position: usize, changes: usize, keeps: bool) {
        self.marks.push(Mark {
            position,
            changes,
            keeps,
        });
    }

    /// The state of a key after so many of its changes was seen on a device, and is durable from
    /// now on.
    pub fn note_resident(&mut self, key: usize, changes: usize, position: usize) {
        self.keys[key].resident.push((position, changes));
    }

    pub fn changes_of(&self, key: usize) -> usize {
        self.keys[key].changes.len()
    }

    /// What a device held may be gone from now on.
    pub fn note_lost(&mut self, position: usize) {
        self.lost.get_or_insert((position, self.changes));
    }

    pub fn has_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// What was there when the life began may have gone with a device.
    pub fn forgive_losses(&mut self) {
        self.keys.iter_mut().for_each(|key| key.before.push(None));
    }

    /// Whether all keys had been looked at by a moment.
    pub fn was_open_at(&self, position: usize) -> bool {
        self.opened.is_some_and(|opened| position >= opened)
    }

    /// What was found is possible. A device that is not there takes along what it told of: what had
    /// been deleted or overwritten may be back.
    pub fn admit(&mut self, found: &[State]) {
        for (history, found) in self.keys.iter_mut().zip(found) {
            history.before.push(found.clone());
        }
    }

    /// What each key may hold after a crash at a moment.
    pub fn possible_at(&self, position: usize) -> Vec<Vec<State>> {
        let keys = self.keys.iter();
        keys.map(|history| self.possible_of(history, position))
            .collect()
    }

    fn possible_of(&self, history: &History, position: usize) -> Vec<State> {
        if !self.was_open_at(position) {
            return history.before.clone();
        }
        let past = || self.marks.iter().filter(|mark| mark.position <= position);
        let index_at = |marked: usize| {
            history
                .changes
                .partition_point(|change| change.number < marked)
        };
        let superseded = index_at(past().map(|mark| mark.changes).max().unwrap_or(0));
        let kept = past().filter(|mark| mark.keeps).map(|mark| mark.changes);
        let kept = index_at(kept.max().unwrap_or(0));
        let resident = history.resident.iter();
        let resident = resident.filter(|(since, _)| *since <= position);
        let kept = kept.max(resident.map(|(_, changes)| *changes).max().unwrap_or(0));
        let begun = history
            .changes
            .partition_point(|change| change.begun < position);
        let first = superseded.max(kept);
        let state = |index: usize| match index {
            0 => &history.found,
            _ => &history.changes[index - 1].state,
        };
        let mut possible: Vec<State> = (first..=begun.max(first))
            .map(|index| state(index).clone())
            .collect();
        let is_lost = self.lost.is_some_and(|(since, changes)| {
            let newest = first.checked_sub(1).map(|one| history.changes[one].number);
            position >= since && newest.is_none_or(|newest| newest < changes)
        });
        if first == 0 && self.lost.is_some() {
            // The device may be back.
            possible.extend(history.before.iter().cloned());
        }
        let is_kept = kept == first && possible.len() == 1 && !self.evicts && !is_lost;
        if !is_kept && !possible.contains(&None) {
            possible.push(None);
        }
        possible
    }
}
