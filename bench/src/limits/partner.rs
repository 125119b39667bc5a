//! Telling addresses through the pipes between the two processes: one line of hexadecimal digits
//! each way.

use std::io::{self, BufRead, Write};

/// Writes an address.
///
/// # Errors
/// Those of the pipe.
pub(super) fn tell(mut pipe: impl Write, address: &[u8]) -> io::Result<()> {
    let digits: String = address.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(pipe, "{digits}")?;
    pipe.flush()
}

/// Reads an address, whole.
///
/// # Errors
/// Those of the pipe, its end before the line's, and anything but digits.
pub(super) fn hear(mut pipe: impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = String::new();
    pipe.read_line(&mut line)?;
    let digits = line
        .strip_suffix('\n')
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(byte_of).collect();
    bytes
        .filter(|bytes| !bytes.is_empty())
        .ok_or_else(|| io::Error::other(format!("no address: {digits:?}")))
}

fn byte_of(digits: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(digits).ok()?;
    (digits.len() == 2).then(|| u8::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_heard_as_it_was_told() {
        let mut line = Vec::new();
        tell(&mut line, &[0, 0x1f, 0xff]).unwrap();
        assert_eq!(line, b"001fff\n");
        assert_eq!(hear(&line[..]).unwrap(), [0, 0x1f, 0xff]);
    }

    #[test]
    fn what_is_cut_short_or_no_address_is_refused() {
        for line in ["001fff", "", "\n", "001\n", "0x\n"] {
            assert!(hear(line.as_bytes()).is_err(), "{line:?}");
        }
    }
}
