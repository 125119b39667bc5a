//! Which operation comes next, and how the client library carries it out.

use crate::bytes::{self, PIECE_BYTES_MIN, piece};
use farcache_client::{
    Client, Direction, Error, Initial, Operation, ReceiveBytes, Reply, Store, StoreMode,
};
use farcache_linearizability::{Answer, Deed, Value};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;

/// An expiry that does not come while a run lasts.
const FAR_EXPIRY_S: u32 = 10_000;

/// What a server says that has heard nothing of its cluster for too long.
const CUT_OFF: &str = "this server is cut off from its cluster";

/// How long values are: most are small, and some so large that they do not travel in one message.
const LENGTHS: [std::ops::Range<usize>; 3] = [PIECE_BYTES_MIN..200, 2_000..6_000, 60_000..200_000];

/// What keys are used for, by their first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Whole values.
    Register,
    /// Numbers.
    Counter,
    /// Values that are joined of pieces.
    Journal,
}

impl Use {
    fn of(key: &str) -> Use {
        match key.as_bytes().first() {
            Some(b'c') => Use::Counter,
            Some(b'j') => Use::Journal,
            _ => Use::Register,
        }
    }
}

/// Chooses operations, each with a number of its own.
pub struct Chooser {
    random: SmallRng,
    next_piece: u32,
    /// What was read last of each key, with its token.
    met: BTreeMap<String, (Value, u64)>,
    /// Whether nothing is written, not even an expiry.
    only_reads: bool,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The caller was told this.
    Told(Answer),
    /// It was not carried out, or it was a read.
    Nothing(String),
    /// It was carried out, or it was not.
    Unknown(String),
}

impl Chooser {
    /// Pieces are numbered from this one on.
    #[must_use]
    pub fn new(random: SmallRng, first_piece: u32) -> Chooser {
        Chooser {
            random,
            next_piece: first_piece,
            met: BTreeMap::new(),
            only_reads: false,
        }
    }

    /// One that reads as a caller does who writes nothing, not even an expiry.
    #[must_use]
    pub fn reader(random: SmallRng) -> Chooser {
        Chooser {
            only_reads: true,
            ..Chooser::new(random, 0)
        }
    }

    /// Its source of chance.
    pub fn random(&mut self) -> &mut SmallRng {
        &mut self.random
    }

    /// The next operation on a key.
    pub fn next(&mut self, key: &str) -> Deed {
        let dice = self.random.random_range(0..100);
        match Use::of(key) {
            Use::Register => self.on_register(key, dice),
            Use::Counter => self.on_counter(dice),
            Use::Journal => self.on_journal(key, dice),
        }
    }

    fn on_register(&mut self, key: &str, dice: u32) -> Deed {
        match dice {
            0..38 => Deed::Read,
            38..62 => Deed::Set(self.value()),
            62..70 => Deed::Delete,
            70..76 => Deed::Add(self.value()),
            76..82 => Deed::Replace(self.value()),
            82..94 => self.swap(key),
            94..98 => Deed::Touch,
            _ => Deed::Increment {
                delta: 1,
                initial: None,
            },
        }
    }

    fn on_counter(&mut self, dice: u32) -> Deed {
        let delta = self.random.random_range(1..1000);
        let initial = self.random.random_bool(0.7).then_some(delta * 7);
        match dice {
            0..25 => Deed::Read,
            25..70 => Deed::Increment { delta, initial },
            70..85 => Deed::Decrement { delta, initial },
            85..92 => Deed::Set(Value::Number(delta * 1000)),
            92..96 => Deed::Add(Value::Number(delta * 1000)),
            _ => Deed::Delete,
        }
    }

    fn on_journal(&mut self, key: &str, dice: u32) -> Deed {
        match dice {
            0..30 => Deed::Read,
            30..55 => Deed::Append(self.number()),
            55..70 => Deed::Prepend(self.number()),
            70..86 => Deed::Set(self.value()),
            86..92 => self.swap(key),
            92..96 => Deed::Touch,
            _ => Deed::Delete,
        }
    }

    fn swap(&mut self, key: &str) -> Deed {
        match self.met.get(key) {
            Some((met, _)) => Deed::Swap {
                met: met.clone(),
                new: self.value(),
            },
            None => Deed::Read,
        }
    }

    fn number(&mut self) -> u32 {
        self.next_piece += 1;
        self.next_piece
    }

    fn value(&mut self) -> Value {
        Value::Pieces(vec![self.number()])
    }

    /// Carries an operation out.
    pub fn perform(&mut self, client: &Client, key: &str, deed: &Deed) -> End {
        let name = key.as_bytes();
        let outcome = match deed {
            Deed::Read => {
                let into = ReceiveBytes::default();
                let touches = !self.only_reads && self.random.random_range(0..10) == 0;
                let operation = match touches {
                    true => Operation::GetAndTouch {
                        key: name,
                        expiry_s: FAR_EXPIRY_S,
                        into,
                    },
                    false => Operation::Get { key: name, into },
                };
                self.carry_out(client, operation)
            }
            Deed::Set(value) => self.store(client, key, StoreMode::Set, value, 0),
            Deed::Add(value) => self.store(client, key, StoreMode::Add, value, 0),
            Deed::Replace(value) => self.store(client, key, StoreMode::Replace, value, 0),
            Deed::Swap { new, .. } => {
                let token = self.met.get(key).map_or(0, |met| met.1);
                self.store(client, key, StoreMode::Set, new, token)
            }
            Deed::Append(number) => {
                let value = Value::Pieces(vec![*number]);
                self.store(client, key, StoreMode::Append, &value, 0)
            }
            Deed::Prepend(number) => {
                let value = Value::Pieces(vec![*number]);
                self.store(client, key, StoreMode::Prepend, &value, 0)
            }
            Deed::Increment { delta, initial } => {
                let way = Direction::Increment;
                self.carry_out(client, count(name, way, *delta, *initial))
            }
            Deed::Decrement { delta, initial } => {
                let way = Direction::Decrement;
                self.carry_out(client, count(name, way, *delta, *initial))
            }
            Deed::Touch => {
                let expiry_s = FAR_EXPIRY_S;
                let touch = Operation::Touch {
                    key: name,
                    expiry_s,
                };
                self.carry_out(client, touch)
            }
            Deed::Delete if self.random.random_bool(0.5) => {
                client.delete(name).map(|()| Reply::Done { cas: 0 })
            }
            Deed::Delete => self.carry_out(client, Operation::Delete { key: name, cas: 0 }),
            Deed::Clear | Deed::Undo => return End::Nothing("nobody asks for that".into()),
        };
        self.end(key, deed, outcome)
    }

    fn carry_out(&mut self, client: &Client, operation: Operation<'_>) -> Result<Reply, Error> {
        client.wait(client.submit(operation))
    }

    fn store(
        &mut self,
        client: &Client,
        key: &str,
        mode: StoreMode,
        value: &Value,
        cas: u64,
    ) -> Result<Reply, Error> {
        let bytes = match value {
            Value::Number(number) => number.to_string().into_bytes(),
            Value::Pieces(pieces) => {
                let at = match self.random.random_range(0..20) {
                    0..12 => 0,
                    12..19 => 1,
                    _ => 2,
                };
                let bytes = self.random.random_range(LENGTHS[at].clone());
                piece(pieces[0], bytes)
            }
        };
        let store = Store {
            mode,
            key: key.as_bytes(),
            value: bytes.into(),
            flags: 0,
            expiry_s: 0,
            cas,
        };
        match self.random.random_bool(0.5) {
            true => client.store(store).map(|cas| Reply::Done { cas }),
            false => self.carry_out(client, Operation::Store(store)),
        }
    }

    fn end(&mut self, key: &str, deed: &Deed, outcome: Result<Reply, Error>) -> End {
        let error = match outcome {
            Ok(reply) => return End::Told(self.told(key, reply)),
            Err(error) => error,
        };
        match (deed, error) {
            (Deed::Read, Error::NotFound) => End::Told(Answer::Read(None)),
            (_, Error::NotFound) => End::Told(Answer::NotFound),
            (_, Error::NotStored) => End::Told(Answer::NotStored),
            (_, Error::Exists) => End::Told(Answer::Exists),
            (_, Error::NotNumeric) => End::Told(Answer::NotNumeric),
            (Deed::Read, error) => End::Nothing(error.to_string()),
            // "Nothing was sent."
            (_, error @ (Error::Connect(_) | Error::ServerDead)) => End::Nothing(error.to_string()),
            // It answers for no key.
            (_, Error::Server { message, .. }) if message.contains(CUT_OFF) => {
                End::Nothing(message.into())
            }
            (_, error) => End::Unknown(error.to_string()),
        }
    }

    fn told(&mut self, key: &str, reply: Reply) -> Answer {
        match reply {
            Reply::Value { value, cas, .. } => match bytes::read(&value) {
                Ok(value) => {
                    self.met.insert(key.to_owned(), (value.clone(), cas));
                    Answer::Read(Some(value))
                }
                Err(corrupt) => corrupt,
            },
            Reply::Done { .. } => Answer::Done,
            Reply::Number { number, .. } => Answer::Number(number),
            other => Answer::Corrupt(format!("{other:?}")),
        }
    }
}

fn count(key: &[u8], direction: Direction, delta: u64, initial: Option<u64>) -> Operation<'_> {
    let initial = initial.map(|number| Initial {
        number,
        expiry_s: 0,
    });
    Operation::Arithmetic {
        direction,
        key,
        delta,
        initial,
    }
}
