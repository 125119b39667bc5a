//! Decimal numbers as memcached 1.6.45 reads and writes them.
//!
//! Most are read strictly: digits alone, and a minus where the number may be negative. The client
//! flags and the expiry of the classic storage commands are read as C's `strtol` does, which takes
//! white space and a plus before the digits and ends at white space.
//! Source: memcached `vendor/mcmc/mcmc.c` (`mcmc_toktou32` and the like) and `util.c`.

/// Most characters of a number of 64 bits. Source: `MCMC_TOKTO64_MAX`.
const CHARACTERS_MAX: usize = 22;

/// Most characters of a number of 32 bits. Source: `MCMC_TOKTO32_MAX`.
const CHARACTERS_MAX_32: usize = 11;

/// The value of a token that has nothing but digits; none at all are 0, as in memcached.
fn digits(token: &[u8]) -> Option<u64> {
    token.iter().try_fold(0u64, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

/// An unsigned number of 64 bits.
pub fn parse_u64(token: &[u8]) -> Option<u64> {
    digits(token).filter(|_| token.len() <= CHARACTERS_MAX)
}

/// An unsigned number of 32 bits.
pub fn parse_u32(token: &[u8]) -> Option<u32> {
    let number = digits(token).filter(|_| token.len() <= CHARACTERS_MAX_32)?;
    u32::try_from(number).ok()
}

/// A signed number of 64 bits.
pub fn parse_i64(token: &[u8]) -> Option<i64> {
    if token.len() > CHARACTERS_MAX {
        return None;
    }
    match token {
        [b'-', magnitude @ ..] => 0i64.checked_sub_unsigned(digits(magnitude)?),
        _ => i64::try_from(digits(token)?).ok(),
    }
}

/// A signed number of 32 bits.
pub fn parse_i32(token: &[u8]) -> Option<i32> {
    let number = parse_i64(token).filter(|_| token.len() <= CHARACTERS_MAX_32)?;
    i32::try_from(number).ok()
}

/// The client flags of a classic storage command, read as by C's `strtoul` and cut to 32 bits.
///
/// Negative ones are refused unless they wrap to a small positive number, as memcached has it.
pub fn parse_client_flags(token: &[u8]) -> Option<u32> {
    let (is_negative, magnitude) = sign_and_magnitude(token)?;
    let value = if is_negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    (!is_negative || value as i64 >= 0).then_some(value as u32)
}

/// The expiry of a classic storage command, read as by C's `strtol`.
pub fn parse_exptime(token: &[u8]) -> Option<i64> {
    match sign_and_magnitude(token)? {
        (true, magnitude) => 0i64.checked_sub_unsigned(magnitude),
        (false, magnitude) => i64::try_from(magnitude).ok(),
    }
}

/// Sign and magnitude of a number that C's `strtol` takes and that ends at white space, at a NUL
/// or with the token.
fn sign_and_magnitude(token: &[u8]) -> Option<(bool, u64)> {
    let start = token.iter().position(|byte| !is_space(*byte))?;
    let (is_negative, rest) = match token[start] {
        b'-' => (true, &token[start + 1..]),
        b'+' => (false, &token[start + 1..]),
        _ => (false, &token[start..]),
    };
    magnitude(rest).map(|magnitude| (is_negative, magnitude))
}

fn magnitude(digits: &[u8]) -> Option<u64> {
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let mut value = 0u64;
    for byte in digits {
        match byte {
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?,
            byte if is_space(*byte) || *byte == 0 => break,
            _ => return None,
        }
    }
    Some(value)
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
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
        assert_eq!(parse_u64(b"0000000000000000000007"), Some(7));
        assert_eq!(parse_u64(b"00000000000000000000007"), None);
        for bad in [&b"a"[..], b"1a", b"-1", b"+1", b"1\t", b" 1", b"1\0"] {
            assert_eq!(parse_u64(bad), None, "{bad:?}");
        }
        assert_eq!(parse_u32(b"4294967295"), Some(u32::MAX));
        assert_eq!(parse_u32(b"4294967296"), None);
        assert_eq!(parse_u32(b"00000000007"), Some(7));
        assert_eq!(parse_u32(b"000000000007"), None);
    }

    #[test]
    fn signed_numbers() {
        assert_eq!(parse_i32(b"-5"), Some(-5));
        assert_eq!(parse_i32(b"2147483647"), Some(i32::MAX));
        assert_eq!(parse_i32(b"-2147483648"), Some(i32::MIN));
        assert_eq!(parse_i32(b"2147483648"), None);
        assert_eq!(parse_i32(b"99999999999999999999"), None);
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_i64(b"9223372036854775808"), None);
        for bad in [&b"+5"[..], b"--5", b"5x", b"5-", b"1.5"] {
            assert_eq!(parse_i32(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn flags_and_expiries_of_storage_commands_are_read_as_by_c() {
        assert_eq!(parse_client_flags(b"4294967295"), Some(u32::MAX));
        assert_eq!(parse_client_flags(b"4294967296"), Some(0));
        assert_eq!(parse_client_flags(b"-1"), None);
        assert_eq!(parse_client_flags(b"-18446744073709551615"), Some(1));
        assert_eq!(parse_client_flags(b"18446744073709551616"), None);
        assert_eq!(parse_exptime(b"-1"), Some(-1));
        assert_eq!(parse_exptime(b"9223372036854775808"), None);
        for seven in [
            &b"7"[..],
            b"+7",
            b"\t7\t",
            b"7\0x",
            b"00000000000000000000000000007",
        ] {
            assert_eq!(parse_client_flags(seven), Some(7), "{seven:?}");
            assert_eq!(parse_exptime(seven), Some(7), "{seven:?}");
        }
        for bad in [&b""[..], b"a", b"1a", b"-", b"+", b"--1", b" "] {
            assert_eq!(parse_client_flags(bad), None, "{bad:?}");
            assert_eq!(parse_exptime(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn pushes_decimal() {
        let mut out = b"n".to_vec();
        push(&mut out, u64::MAX);
        push(&mut out, -3i32);
        assert_eq!(out, b"n18446744073709551615-3");
    }
}
