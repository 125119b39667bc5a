//! Histories as lines of text: client, call, return (`?` where it is unknown), what was asked for,
//! `->`, and the answer. A value is its pieces, as in `3+7`, or a number, as in `#12`; `-` is none.

use crate::{Answer, Deed, Operation, State, Value};
use std::fmt;

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(out, "#{number}"),
            Value::Pieces(pieces) => {
                let pieces: Vec<String> = pieces.iter().map(u32::to_string).collect();
                out.write_str(&pieces.join("+"))
            }
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = |initial: &Option<u64>| match initial {
            Some(initial) => format!(" {initial}"),
            None => String::new(),
        };
        match self {
            Deed::Read => out.write_str("read"),
            Deed::Set(value) => write!(out, "set {value}"),
            Deed::Add(value) => write!(out, "add {value}"),
            Deed::Replace(value) => write!(out, "replace {value}"),
            Deed::Swap { met, new } => write!(out, "swap {met} {new}"),
            Deed::Append(piece) => write!(out, "append {piece}"),
            Deed::Prepend(piece) => write!(out, "prepend {piece}"),
            Deed::Increment { delta, initial } => {
                write!(out, "increment {delta}{}", counts(initial))
            }
            Deed::Decrement { delta, initial } => {
                write!(out, "decrement {delta}{}", counts(initial))
            }
            Deed::Touch => out.write_str("touch"),
            Deed::Delete => out.write_str("delete"),
            Deed::Clear => out.write_str("clear"),
            Deed::Undo => out.write_str("undo"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Done => out.write_str("done"),
            Answer::Read(None) => out.write_str("value -"),
            Answer::Read(Some(value)) => write!(out, "value {value}"),
            Answer::Number(number) => write!(out, "number {number}"),
            Answer::NotFound => out.write_str("not-found"),
            Answer::NotStored => out.write_str("not-stored"),
            Answer::Exists => out.write_str("exists"),
            Answer::NotNumeric => out.write_str("not-numeric"),
            Answer::Unknown => out.write_str("unknown"),
            Answer::Corrupt(why) => write!(out, "corrupt {why}"),
        }
    }
}

/// A history, a line for each operation.
#[must_use]
pub fn print(operations: &[Operation]) -> String {
    let lines = operations.iter().map(|one| {
        let returned = one.returned.map_or("?".into(), |time| time.to_string());
        let (client, called) = (one.client, one.called);
        format!(
            "{client} {called} {returned} {} -> {}\n",
            one.deed, one.answer
        )
    });
    lines.collect()
}

/// Reads what [`print`] has written; empty lines, and those that begin with `;`, say nothing.
///
/// # Errors
/// The first line that cannot be read.
pub fn parse(text: &str) -> Result<Vec<Operation>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(';'));
    let read = |line: &str| operation(line).ok_or_else(|| format!("no operation: {line}"));
    lines.map(read).collect()
}

fn operation(line: &str) -> Option<Operation> {
    let (asked, answer) = line.split_once(" -> ")?;
    let mut words = asked.splitn(4, ' ');
    let client = words.next()?.parse().ok()?;
    let called = words.next()?.parse().ok()?;
    let returned = match words.next()? {
        "?" => None,
        time => Some(time.parse().ok()?),
    };
    Some(Operation {
        client,
        deed: deed(words.next()?)?,
        answer: Answer::read(answer)?,
        called,
        returned,
    })
}

impl Deed {
    /// Reads what its `Display` has written.
    #[must_use]
    pub fn read(text: &str) -> Option<Deed> {
        deed(text)
    }
}

fn deed(text: &str) -> Option<Deed> {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let piece = || words.get(1)?.parse::<u32>().ok();
    let stored = |at: usize| value(words.get(at)?)?;
    let initial = || (words.len() == 2 || number(2).is_some()).then(|| number(2));
    Some(match *words.first()? {
        "read" => Deed::Read,
        "set" => Deed::Set(stored(1)?),
        "add" => Deed::Add(stored(1)?),
        "replace" => Deed::Replace(stored(1)?),
        "swap" => Deed::Swap {
            met: stored(1)?,
            new: stored(2)?,
        },
        "append" => Deed::Append(piece()?),
        "prepend" => Deed::Prepend(piece()?),
        "increment" => Deed::Increment {
            delta: number(1)?,
            initial: initial()?,
        },
        "decrement" => Deed::Decrement {
            delta: number(1)?,
            initial: initial()?,
        },
        "touch" => Deed::Touch,
        "delete" => Deed::Delete,
        "clear" => Deed::Clear,
        "undo" => Deed::Undo,
        _ => return None,
    })
}

/// None where it cannot be read.
fn value(text: &str) -> Option<State> {
    if text == "-" {
        return Some(None);
    }
    if let Some(number) = text.strip_prefix('#') {
        return Some(Some(Value::Number(number.parse().ok()?)));
    }
    let pieces: Option<Vec<u32>> = text.split('+').map(|piece| piece.parse().ok()).collect();
    Some(Some(Value::Pieces(pieces?)))
}

impl Answer {
    /// Reads what its `Display` has written.
    #[must_use]
    pub fn read(text: &str) -> Option<Answer> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match word {
            "done" => Answer::Done,
            "value" => Answer::Read(value(rest)?),
            "number" => Answer::Number(rest.parse().ok()?),
            "not-found" => Answer::NotFound,
            "not-stored" => Answer::NotStored,
            "exists" => Answer::Exists,
            "not-numeric" => Answer::NotNumeric,
            "unknown" => Answer::Unknown,
            "corrupt" => Answer::Corrupt(rest.into()),
            _ => return None,
        })
    }
}
