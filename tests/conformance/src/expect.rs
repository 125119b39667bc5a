//! Comparing what was found with what was wanted.

use super::Outcome;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Most characters of a thing that a fault shows.
const SHOWN_MAX: usize = 200;

fn shown(thing: &impl Debug) -> String {
    let text = format!("{thing:?}");
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.len()),
        None => text,
    }
}

/// A fault if they differ.
pub fn equal<T: PartialEq<U> + Debug, U: Debug>(what: &str, found: T, wanted: U) -> Outcome {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {}, wanted {}", shown(&found), shown(&wanted)).into())
}

/// A fault if it is not so.
pub fn holds(what: &str, is_so: bool) -> Outcome {
    if is_so { Ok(()) } else { Err(what.into()) }
}

/// A fault if the value is another; says where they differ rather than showing both.
pub fn same_value(what: &str, found: &[u8], wanted: &[u8]) -> Outcome {
    if found.len() != wanted.len() {
        return equal(&format!("{what}: bytes"), found.len(), wanted.len());
    }
    match found.iter().zip(wanted).position(|(a, b)| a != b) {
        Some(place) => Err(format!("{what}: wrong from byte {place} of {}", found.len()).into()),
        None => Ok(()),
    }
}

/// Tries again until it holds or the time is up; then with the last fault.
pub fn eventually(limit: Duration, mut attempt: impl FnMut() -> Outcome) -> Outcome {
    let deadline = Instant::now() + limit;
    loop {
        match attempt() {
            Err(fault) if Instant::now() >= deadline => return Err(fault),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
            Ok(()) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_faults() {
        assert!(equal("number", 1, 1).is_ok());
        assert_eq!(
            equal("number", 1, 2).unwrap_err().to_string(),
            "number: found 1, wanted 2"
        );
        assert!(holds("so", true).is_ok() && holds("so", false).is_err());
    }

    #[test]
    fn values_are_compared_byte_by_byte() {
        assert!(same_value("v", b"abc", b"abc").is_ok());
        let fault = same_value("v", b"abc", b"abd").unwrap_err().to_string();
        assert_eq!(fault, "v: wrong from byte 2 of 3");
        assert!(same_value("v", b"ab", b"abd").is_err());
    }

    #[test]
    fn long_things_are_shown_in_part() {
        let fault = equal("list", vec![0; 1000], vec![1]).unwrap_err();
        assert!(fault.to_string().len() < 300, "{fault}");
    }

    #[test]
    fn what_holds_later_is_waited_for() {
        let mut left = 3;
        let attempt = || {
            left -= 1;
            equal("left", left, 0)
        };
        assert!(eventually(Duration::from_secs(60), attempt).is_ok());
        assert!(eventually(Duration::ZERO, || holds("never", false)).is_err());
    }
}
