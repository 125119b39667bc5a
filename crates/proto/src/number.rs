//! Decimal numbers as memcached reads and writes them.
//!
//! Reading follows C's `strtoull` as memcached wraps it: leading white space and a sign are
//! taken, the number ends at white space or the end of the token, anything else refuses it.

/// Sign and magnitude of a token; `None` where it is no number or beyond 64 bits.
fn sign_and_magnitude(token: &[u8]) -> Option<(bool, u64)> {
    let start = token.iter().position(|byte| !is_space(*byte))?;
    let (negative, digits) = match token[start] {
        b'-' => (true, &token[start + 1..]),
        b'+' => (false, &token[start + 1..]),
        _ => (false, &token[start..]),
    };
    magnitude(digits).map(|magnitude| (negative, magnitude))
}

fn magnitude(digits: &[u8]) -> Option<u64> {
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let mut value = 0u64;
    for byte in digits {
        match byte {
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
            byte if is_space(*byte) => break,
            _ => return None,
        }
    }
    Some(value)
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// An unsigned number of 64 bits.
///
/// A negative one is refused unless it wraps to a small positive number, as memcached has it.
pub fn parse_u64(token: &[u8]) -> Option<u64> {
    let (negative, magnitude) = sign_and_magnitude(token)?;
    let value = if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    (!negative || value as i64 >= 0).then_some(value)
}

/// An unsigned number, cut to 32 bits as memcached cuts client flags.
pub fn parse_u32(token: &[u8]) -> Option<u32> {
    parse_u64(token).map(|value| value as u32)
}

/// A signed number of 64 bits.
pub fn parse_i64(token: &[u8]) -> Option<i64> {
    let (negative, magnitude) = sign_and_magnitude(token)?;
    let magnitude = i64::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// A signed number of 32 bits.
pub fn parse_i32(token: &[u8]) -> Option<i32> {
    parse_i64(token).and_then(|number| i32::try_from(number).ok())
}

/// Appends a number in decimal.
pub fn push<N: itoa::Integer>(out: &mut Vec<u8>, number: N) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsigned_numbers() {
        assert_eq!(parse_u64(b"0"), Some(0));
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
        assert_eq!(parse_u64(b"+7"), Some(7));
        assert_eq!(parse_u64(b"\t7\t"), Some(7));
        assert_eq!(parse_u64(b"-1"), None);
        assert_eq!(parse_u64(b"-18446744073709551615"), Some(1));
        for bad in [&b""[..], b"a", b"1a", b"-", b"+", b"--1", b" "] {
            assert_eq!(parse_u64(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn client_flags_are_cut_to_32_bits() {
        assert_eq!(parse_u32(b"4294967295"), Some(u32::MAX));
        assert_eq!(parse_u32(b"4294967296"), Some(0));
    }

    #[test]
    fn signed_numbers() {
        assert_eq!(parse_i32(b"-5"), Some(-5));
        assert_eq!(parse_i32(b"2147483647"), Some(i32::MAX));
        assert_eq!(parse_i32(b"-2147483648"), Some(i32::MIN));
        assert_eq!(parse_i32(b"2147483648"), None);
        assert_eq!(parse_i32(b"99999999999999999999"), None);
    }

    #[test]
    fn pushes_decimal() {
        let mut out = b"n".to_vec();
        push(&mut out, u64::MAX);
        push(&mut out, -3i32);
        assert_eq!(out, b"n18446744073709551615-3");
    }
}
