//! Decimal numbers in values, as memcached counts with them.

/// The number that a value stands for, by memcached's rule: white space and a plus sign before it
/// are passed over, and so is everything from the first white space behind it. None where it is no
/// number, or one of more than 64 bits.
pub fn number(value: &[u8]) -> Option<u64> {
    let text = value.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.split(u8::is_ascii_whitespace).next()?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number
        .then(|| std::str::from_utf8(digits).ok()?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn only_decimal_numbers_of_64_bits_count() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for seven in [&b"7"[..], b"7  ", b" 7", b"+7", b"7 x", b"07"] {
            assert_eq!(number(seven), Some(7), "{seven:?}");
        }
        for other in [
            &b""[..],
            b" ",
            b"-1",
            b"1x",
            b"+ 1",
            b"18446744073709551616",
            b"0x1",
        ] {
            assert_eq!(number(other), None, "{other:?}");
        }
    }
}
