//! Formats of lines with columns.

use super::lines::{for_each_line, hash_of};
use super::{Columns, Record, Visit, invalid};
use std::io::{self, BufRead};
use std::ops::ControlFlow;

/// Columns of Twitter's traces. Source: github.com/twitter/cache-trace, README.
const TWITTER_KEY: usize = 2;
const TWITTER_VALUE_BYTES: usize = 4;
const TWITTER_OPERATION: usize = 6;

/// The columns of a line: divided by commas if there is one, else by blanks.
fn column(line: &str, number: usize) -> Option<&str> {
    let index = number.checked_sub(1)?;
    if line.contains(',') {
        return line.split(',').nth(index).map(str::trim);
    }
    line.split_ascii_whitespace().nth(index)
}

/// A key as a number, or its hash.
fn key_of(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| hash_of(word))
}

/// A size in bytes; what is larger than a `u32` says is as large as that.
fn size_of(line: u64, word: &str) -> io::Result<u32> {
    let size: u64 = word
        .parse()
        .map_err(|_| invalid(format!("line {line}: \"{word}\" is no size")))?;
    Ok(u32::try_from(size).unwrap_or(u32::MAX))
}

/// Empty lines and those that begin with `#` are left out, and so is a first line whose size is no
/// number.
pub fn read_csv(columns: Columns, input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_line(input, |number, line| {
        if line.is_empty() || line.starts_with('#') {
            return Ok(ControlFlow::Continue(()));
        }
        let missing = |column| invalid(format!("line {number} has no column {column}"));
        let key = column(line, columns.key).ok_or_else(|| missing(columns.key))?;
        let size = match columns.value_bytes {
            Some(place) => {
                let word = column(line, place).ok_or_else(|| missing(place))?;
                match size_of(number, word) {
                    Err(_) if number == 1 => return Ok(ControlFlow::Continue(())),
                    size => Some(size?),
                }
            }
            None => None,
        };
        Ok(visit(Record::read(key_of(key), size)))
    })
}

/// Reads are `get` and `gets`. One that found nothing tells size 0; a later record tells the true
/// one.
pub fn read_twitter(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_line(input, |number, line| {
        if line.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let column = |place| {
            let text = column(line, place);
            text.ok_or_else(|| invalid(format!("line {number} has no column {place}")))
        };
        let value_bytes = size_of(number, column(TWITTER_VALUE_BYTES)?)?;
        Ok(visit(Record {
            key: hash_of(column(TWITTER_KEY)?),
            value_bytes: (value_bytes > 0).then_some(value_bytes),
            is_read: matches!(column(TWITTER_OPERATION)?, "get" | "gets"),
        }))
    })
}
