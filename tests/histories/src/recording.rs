//! The histories of all keys, made of the lines that clients told.

use crate::Outcome;
use farcache_linearizability::{Answer, Deed, Operation};
use std::collections::BTreeMap;

/// What was done to each key, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Each key with its operations.
    pub histories: BTreeMap<String, Vec<Operation>>,
    /// How operations ended, with how many there were.
    pub ends: BTreeMap<String, usize>,
    /// Why each caller could not read a key the last time.
    pub failures: BTreeMap<(u32, String), String>,
}

impl Recording {
    /// What these lines say.
    ///
    /// # Errors
    /// A line that says nothing.
    pub fn of(lines: &[String]) -> Outcome<Recording> {
        let (mut recording, mut open) = (Recording::default(), BTreeMap::new());
        for line in lines {
            let read = recording.take(&mut open, line);
            read.ok_or_else(|| format!("no line of a history: {line}"))?;
        }
        for (key, operation) in open.into_values() {
            recording.add(key, operation, "its client was killed");
        }
        Ok(recording)
    }

    fn take(&mut self, open: &mut Open, line: &str) -> Option<()> {
        let mut words = line.splitn(5, ' ');
        let kind = words.next()?;
        let (caller, count) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let time = words.next()?.parse().ok()?;
        let rest = words.next()?;
        if kind == "c" {
            let (key, deed) = rest.split_once(' ')?;
            let operation = Operation {
                client: caller,
                deed: Deed::read(deed)?,
                answer: Answer::Unknown,
                called: time,
                returned: None,
            };
            open.insert((caller, count), (key.to_owned(), operation));
            return Some(());
        }
        let (key, mut operation) = open.remove(&(caller, count))?;
        match kind {
            "r" => {
                operation.answer = Answer::read(rest)?;
                operation.returned = Some(time);
                self.add(key, operation, "told");
            }
            "u" => self.add(key, operation, rest),
            "n" => {
                self.count(&format!("not carried out: {rest}"));
                self.failures.insert((caller, key), rest.to_owned());
            }
            _ => return None,
        }
        Some(())
    }

    fn add(&mut self, key: String, operation: Operation, end: &str) {
        self.count(match operation.returned {
            Some(_) => "told",
            None => end,
        });
        // A read that has not ended says nothing.
        if operation.returned.is_some() || operation.deed != Deed::Read {
            self.histories.entry(key).or_default().push(operation);
        }
    }

    fn count(&mut self, end: &str) {
        *self.ends.entry(end.to_owned()).or_default() += 1;
    }

    /// How many operations were begun.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.ends.values().sum()
    }

    /// How many callers were told how their operation ended.
    #[must_use]
    pub fn told(&self) -> usize {
        self.ends.get("told").copied().unwrap_or(0)
    }
}

/// Operations that have begun, by caller and count.
type Open = BTreeMap<(u32, u32), (String, Operation)>;

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(text: &str) -> Outcome<Recording> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Recording::of(&lines)
    }

    #[test]
    fn lines_become_histories() {
        let text = "c 8 0 5 r0 set 3\nc 9 0 6 r0 read\nr 9 0 7 value -\nr 8 0 8 done\n\
                    c 8 1 9 c0 increment 2\nu 8 1 10 no answer in time\nc 8 2 11 r0 delete\n\
                    c 9 1 12 c0 read\nc 9 2 13 r0 touch\nn 9 2 14 cannot connect: refused";
        let recording = recording(text).expect("a recording");
        assert_eq!((recording.operations(), recording.told()), (6, 2));
        let text = farcache_linearizability::print(&recording.histories["r0"]);
        let expected = "9 6 7 read -> value -\n8 5 8 set 3 -> done\n8 11 ? delete -> unknown\n";
        assert_eq!(text, expected);
        assert_eq!(
            recording.histories["c0"].len(),
            1,
            "an unfinished read says nothing"
        );
    }

    #[test]
    fn a_line_that_says_nothing_is_an_error() {
        assert!(recording("c 8 0 5 r0 steal 3").is_err());
        assert!(recording("r 8 0 5 done").is_err());
        assert!(recording("x 8 0 5 done").is_err());
    }
}
