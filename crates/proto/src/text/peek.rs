//! A glance at storage commands further on in the input, to fetch what they will touch.

use super::store::parse_value_bytes;
use super::{Tokens, split_line};

/// The key of the `set` or `ms` at the start of the input, and how many bytes the command takes
/// with its value. None for any other command and where the line is not whole; what it returns is
/// a guess that only [`super::parse`] can confirm.
pub fn peek_store(input: &[u8]) -> Option<(&[u8], usize)> {
    const VALUE_END_BYTES: usize = 2;
    let tokens_between_key_and_length = match input.get(..3)? {
        b"set" => 2,
        b"ms " => 0,
        _ => return None,
    };
    let (line, line_bytes) = split_line(input)?;
    let mut tokens = Tokens::new(line).skip(1);
    let key = tokens.next()?;
    let value_bytes = parse_value_bytes(tokens.nth(tokens_between_key_and_length)?)?;
    Some((key, line_bytes + value_bytes + VALUE_END_BYTES))
}

#[cfg(test)]
mod tests {
    use super::peek_store;

    #[test]
    fn finds_key_and_length_of_storage_commands() {
        assert_eq!(
            peek_store(b"set k 1 2 5\r\nabcde\r\nget k\r\n"),
            Some((&b"k"[..], 20))
        );
        assert_eq!(
            peek_store(b"set k 1 2 0 noreply\r\n\r\n"),
            Some((&b"k"[..], 23))
        );
        assert_eq!(
            peek_store(b"ms key 3 T30\r\nabc\r\n"),
            Some((&b"key"[..], 19))
        );
    }

    #[test]
    fn leaves_everything_else_alone() {
        for other in [
            &b""[..],
            b"se",
            b"get k\r\n",
            b"set k 1 2",
            b"set k\r\n",
            b"set k 1 2 x\r\n",
            b"ms k\r\n",
            b"ms k -1\r\n",
            b"ms\r\n",
        ] {
            assert_eq!(peek_store(other), None, "{other:?}");
        }
    }
}
