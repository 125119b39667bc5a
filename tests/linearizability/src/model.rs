//! What a key holds, and what operations do to it: memcached's semantics, without expiry.

/// A value, as those who check it know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// Pieces, each written by one operation, in the order in which they lie in the value.
    Pieces(Vec<u32>),
    /// A number to count with.
    Number(u64),
}

/// What a key holds; none where it is absent.
pub type State = Option<Value>;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// To read (GET, and GAT with an expiry that does not come).
    Read,
    /// To store in any case.
    Set(Value),
    /// To store where there is nothing.
    Add(Value),
    /// To store where there is something.
    Replace(Value),
    /// To store where nothing was written since this was read (CAS).
    Swap {
        /// What was read.
        met: Value,
        /// What is to be stored.
        new: Value,
    },
    /// To put a piece behind what is there.
    Append(u32),
    /// To put a piece in front of what is there.
    Prepend(u32),
    /// To count up.
    Increment {
        /// By how much.
        delta: u64,
        /// What is stored where there is nothing.
        initial: Option<u64>,
    },
    /// To count down, to 0 at the least.
    Decrement {
        /// By how much.
        delta: u64,
        /// What is stored where there is nothing.
        initial: Option<u64>,
    },
    /// To give a new expiry, which does not come.
    Touch,
    /// To remove.
    Delete,
    /// To remove, and not to be told whether there was anything; or nobody asked for it, and the
    /// value may be lost as its server was.
    Clear,
    /// Nobody asked for it: a write of which nobody knows how it ended may be lost with a server
    /// although it was read, so that there is what was there before.
    Undo,
}

/// What the caller was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// What the key holds.
    Read(State),
    /// What was counted.
    Number(u64),
    /// There is nothing.
    NotFound,
    /// There is nothing to put a piece to.
    NotStored,
    /// There is something, or something else.
    Exists,
    /// It is no number.
    NotNumeric,
    /// Nobody knows: it was done, or it was not.
    Unknown,
    /// Bytes that no write has written as they are, with what is wrong about them.
    Corrupt(String),
}

impl Value {
    fn with(&self, piece: u32, is_behind: bool) -> Option<Value> {
        let Value::Pieces(pieces) = self else {
            return None;
        };
        let mut pieces = pieces.clone();
        let at = if is_behind { pieces.len() } else { 0 };
        pieces.insert(at, piece);
        Some(Value::Pieces(pieces))
    }
}

/// What an operation does where its condition holds.
enum Effect {
    /// It leaves this, and answers this.
    Does(State, Answer),
    /// The condition does not hold: it answers this, and changes nothing.
    Refuses(Answer),
}

impl Deed {
    /// What is there after it, if this may have been the answer; none if it may not.
    #[must_use]
    pub fn step(&self, state: &State, answer: &Answer) -> Option<State> {
        // The token may be another one although the value is what it was: whoever finds a write
        // that was left unfinished writes it anew.
        if let (Deed::Swap { .. }, Answer::Exists, Some(_)) = (self, answer, state) {
            return Some(state.clone());
        }
        match (self.effect(state), answer) {
            (Effect::Does(after, _), Answer::Unknown) => Some(after),
            (Effect::Does(after, told), answer) if told == *answer => Some(after),
            (Effect::Refuses(told), answer) if told == *answer => Some(state.clone()),
            _ => None,
        }
    }

    /// Whether it changes nothing where this is the answer.
    #[must_use]
    pub fn only_looks(&self, answer: &Answer) -> bool {
        match answer {
            // A DELETE that finds nothing leaves nothing, as it was.
            Answer::NotFound | Answer::NotStored | Answer::Exists | Answer::NotNumeric => true,
            Answer::Unknown => false,
            _ => matches!(self, Deed::Read | Deed::Touch),
        }
    }

    fn effect(&self, state: &State) -> Effect {
        let stores = |value: &Value| Effect::Does(Some(value.clone()), Answer::Done);
        match (self, state) {
            (Deed::Read, _) => Effect::Does(state.clone(), Answer::Read(state.clone())),
            (Deed::Set(value), _) => stores(value),
            (Deed::Add(value), None) => stores(value),
            (Deed::Add(_), Some(_)) => Effect::Refuses(Answer::Exists),
            (Deed::Replace(value), Some(_)) => stores(value),
            (Deed::Swap { met, new }, Some(value)) if met == value => stores(new),
            (Deed::Swap { .. }, Some(_)) => Effect::Refuses(Answer::Exists),
            (Deed::Append(piece), Some(value)) => joined(value.with(*piece, true)),
            (Deed::Prepend(piece), Some(value)) => joined(value.with(*piece, false)),
            (Deed::Append(_) | Deed::Prepend(_), None) => Effect::Refuses(Answer::NotStored),
            (Deed::Increment { delta, initial }, _) => {
                counted(state, *initial, |number| number.wrapping_add(*delta))
            }
            (Deed::Decrement { delta, initial }, _) => {
                counted(state, *initial, |number| number.saturating_sub(*delta))
            }
            // Only the search knows what was there before.
            (Deed::Undo, _) => Effect::Refuses(Answer::Unknown),
            (Deed::Touch, Some(_)) => Effect::Does(state.clone(), Answer::Done),
            (Deed::Delete, Some(_)) => Effect::Does(None, Answer::Done),
            (Deed::Clear, _) => Effect::Does(None, Answer::Done),
            (Deed::Replace(_) | Deed::Swap { .. } | Deed::Touch | Deed::Delete, None) => {
                Effect::Refuses(Answer::NotFound)
            }
        }
    }
}

fn joined(value: Option<Value>) -> Effect {
    match value {
        Some(value) => Effect::Does(Some(value), Answer::Done),
        // Digits with a piece are nothing that can be told apart: nobody asks for it.
        None => Effect::Refuses(Answer::NotStored),
    }
}

fn counted(state: &State, initial: Option<u64>, count: impl Fn(u64) -> u64) -> Effect {
    let number = match (state, initial) {
        (Some(Value::Number(number)), _) => count(*number),
        (Some(Value::Pieces(_)), _) => return Effect::Refuses(Answer::NotNumeric),
        (None, Some(initial)) => initial,
        (None, None) => return Effect::Refuses(Answer::NotFound),
    };
    Effect::Does(Some(Value::Number(number)), Answer::Number(number))
}
