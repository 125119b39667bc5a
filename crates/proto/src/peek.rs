//! A glance at a request's key, to fetch what it will touch.

use crate::binary::{Head, MAGIC_REQUEST};
use crate::text::{Tokens, split_line};

/// The key of the request at the start of the input, of whichever protocol. None where it is not
/// there whole, or has none; what it returns is a guess that only parsing can confirm.
#[inline]
pub fn peek_key(input: &[u8]) -> Option<&[u8]> {
    if *input.first()? == MAGIC_REQUEST {
        let head = Head::decode(input).ok()??;
        return (!head.key.is_empty()).then_some(head.key);
    }
    let (line, _) = split_line(input)?;
    Tokens::new(line).nth(1)
}

#[cfg(test)]
mod tests {
    use super::peek_key;
    use crate::binary::{Header, MAGIC_REQUEST, Opcode, Packet};

    #[test]
    fn finds_the_key_of_each_protocol() {
        assert_eq!(peek_key(b"get key other\r\nget"), Some(&b"key"[..]));
        assert_eq!(peek_key(b"set key 0 0 5\r\nab"), Some(&b"key"[..]));
        assert_eq!(peek_key(b"mg key v\r\n"), Some(&b"key"[..]));
        let mut packet = Vec::new();
        let header = Header {
            magic: MAGIC_REQUEST,
            opcode: Opcode::Get as u8,
            ..Header::default()
        };
        let (extras, key, value) = (&[][..], &b"key"[..], &[][..]);
        Packet {
            header,
            extras,
            key,
            value,
        }
        .encode(&mut packet);
        assert_eq!(peek_key(&packet), Some(&b"key"[..]));
        assert_eq!(peek_key(&packet[..packet.len() - 1]), None);
    }

    #[test]
    fn leaves_what_has_no_key_alone() {
        for other in [&b""[..], b"get key", b"mn\r\n", b"\r\n", b"\x80\x00"] {
            assert_eq!(peek_key(other), None, "{other:?}");
        }
    }
}
