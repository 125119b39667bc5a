//! Formats of one request, or range of blocks, a line.

use super::{Record, Visit, invalid};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;

/// Longest line that is taken, in bytes: far more than any format needs.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// Most blocks that one line of an ARC trace may ask for.
const RANGE_BLOCKS_MAX: u64 = 1 << 20;

/// Passes on each line, with its number and without its end.
pub fn for_each_line(
    input: &mut dyn BufRead,
    mut visit: impl FnMut(u64, &str) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut limited = input.take(LINE_BYTES_MAX);
        if limited.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            return Err(invalid(format!("line {number} is too long")));
        }
        let text = str::from_utf8(&line);
        let text = text.map_err(|_| invalid(format!("line {number} is no text")))?;
        if visit(number, text.trim())?.is_break() {
            break;
        }
    }
    Ok(())
}

/// A key that is no number.
pub fn hash_of(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

fn number(line: u64, word: Option<&str>) -> io::Result<u64> {
    let word = word.unwrap_or_default();
    let wrong = |_| invalid(format!("line {line}: \"{word}\" is no number"));
    word.parse().map_err(wrong)
}

/// Source: N. Megiddo and D. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST
/// 2003), its traces.
pub fn read_arc(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_line(input, |line, text| {
        if text.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let mut words = text.split_ascii_whitespace();
        let (first, blocks) = (number(line, words.next())?, number(line, words.next())?);
        if blocks > RANGE_BLOCKS_MAX {
            return Err(invalid(format!("line {line} asks for {blocks} blocks")));
        }
        let end = first.checked_add(blocks);
        let end = end.ok_or_else(|| invalid(format!("line {line}: blocks beyond the last")))?;
        Ok((first..end).try_for_each(|block| visit(Record::read(block, None))))
    })
}

/// Source: S. Jiang and X. Zhang, "LIRS" (SIGMETRICS 2002), its traces.
pub fn read_lirs(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_line(input, |line, text| {
        if text.is_empty() || text.starts_with('*') {
            return Ok(ControlFlow::Continue(()));
        }
        Ok(visit(Record::read(number(line, Some(text))?, None)))
    })
}

pub fn read_keys(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_line(input, |_, text| match text {
        "" => Ok(ControlFlow::Continue(())),
        key => Ok(visit(Record::read(hash_of(key), None))),
    })
}
