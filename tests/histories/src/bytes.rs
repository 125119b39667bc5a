//! Values whose bytes tell who wrote them: a reply that mixes two writes gives itself away.

use farcache_linearizability::{Answer, Value};

/// The beginning of a piece: its number, its length and a check of both, 4 bytes each.
const HEAD_BYTES: usize = 12;

/// The shortest piece.
pub const PIECE_BYTES_MIN: usize = HEAD_BYTES;

/// A piece of a value, of this length.
///
/// # Panics
/// It is shorter than a piece can be.
#[must_use]
pub fn piece(number: u32, bytes: usize) -> Vec<u8> {
    assert!(bytes >= PIECE_BYTES_MIN, "too short for a piece: {bytes}");
    let length = bytes as u32;
    let mut piece = Vec::with_capacity(bytes);
    piece.extend(number.to_le_bytes());
    piece.extend(length.to_le_bytes());
    piece.extend(check(number, length).to_le_bytes());
    piece.extend((HEAD_BYTES..bytes).map(|at| fill(number, at)));
    piece
}

fn check(number: u32, length: u32) -> u32 {
    (number ^ length.rotate_left(16)).wrapping_mul(0x9e37_79b1) ^ 0x0a0a_0a0a
}

fn fill(number: u32, at: usize) -> u8 {
    let mixed = number
        .wrapping_add(at as u32 >> 3)
        .wrapping_mul(0x85eb_ca6b);
    (mixed >> 24) as u8 ^ at as u8
}

/// What these bytes are.
///
/// # Errors
/// [`Answer::Corrupt`]: nobody has written them so.
pub fn read(bytes: &[u8]) -> Result<Value, Answer> {
    if let Some(number) = as_number(bytes) {
        return Ok(Value::Number(number));
    }
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (number, length) = head(rest).ok_or_else(|| {
            let at = bytes.len() - rest.len();
            Answer::Corrupt(format!("no piece at byte {at} of {}", bytes.len()))
        })?;
        let wrong = (HEAD_BYTES..length).find(|&at| rest[at] != fill(number, at));
        if let Some(at) = wrong {
            let why = format!("piece {number} of {length} bytes is another one from {at} on");
            return Err(Answer::Corrupt(why));
        }
        pieces.push(number);
        rest = &rest[length..];
    }
    match pieces.is_empty() {
        true => Err(Answer::Corrupt("no bytes".into())),
        false => Ok(Value::Pieces(pieces)),
    }
}

fn as_number(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    // What was counted down keeps its length.
    text.trim_end_matches(' ').parse().ok()
}

/// Number and length of the piece that begins here and is there whole.
fn head(bytes: &[u8]) -> Option<(u32, usize)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (number, length) = (word(0)?, word(4)?);
    let is_whole = word(8)? == check(number, length)
        && (HEAD_BYTES..=bytes.len()).contains(&(length as usize));
    is_whole.then_some((number, length as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_numbers_are_read_as_they_were_written() {
        assert_eq!(read(b"17"), Ok(Value::Number(17)));
        assert_eq!(read(b"9 "), Ok(Value::Number(9)));
        let joined = [piece(7, 12), piece(1 << 20, 70_000)].concat();
        assert_eq!(read(&joined), Ok(Value::Pieces(vec![7, 1 << 20])));
    }

    #[test]
    fn what_mixes_two_writes_is_corrupt() {
        let (one, other) = (piece(3, 5000), piece(4, 5000));
        let mixed = [&one[..2500], &other[2500..]].concat();
        assert!(matches!(read(&mixed), Err(Answer::Corrupt(_))));
        assert!(matches!(read(&one[..4999]), Err(Answer::Corrupt(_))));
        assert!(matches!(read(&one[1..]), Err(Answer::Corrupt(_))));
        assert!(matches!(read(b""), Err(Answer::Corrupt(_))));
        let turned: Vec<u8> = [&one[..100], &[!one[100]], &one[101..]].concat();
        assert!(matches!(read(&turned), Err(Answer::Corrupt(_))));
    }
}
