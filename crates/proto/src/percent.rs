//! Keys as dumps and log lines show them: percent-encoded (RFC 3986, section 2.1).

/// Appends bytes, all but the unreserved characters as `%XX`.
pub fn push_encoded(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            _ => out.extend_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        let mut out = Vec::new();
        push_encoded(&mut out, b"aZ0-._~ %\xff\n");
        assert_eq!(out, b"aZ0-._~%20%25%FF%0A");
    }
}
