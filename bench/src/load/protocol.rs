//! Requests as bytes, in each of memcached's protocols.
//!
//! Sources: memcached `doc/protocol.txt` and the binary protocol's wire description.

use super::keys::{KeyId, KeyShape};
use super::values::Values;

/// Which of memcached's protocols a run speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `get` and `set`.
    Text,
    /// `mg` and `ms`; a multi-get is quiet `mg`s closed by `mn`.
    Meta,
    /// GET and SET; a multi-get is GETQs closed by a NOOP.
    Binary,
}

/// What one request does, as far as its reply's reader must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Fetches one key.
    Get(KeyId),
    /// Fetches several keys at once.
    MultiGet {
        /// How many.
        keys: u32,
    },
    /// Stores one key.
    Set(KeyId),
}

impl Operation {
    /// Keys that it asks for.
    pub fn keys_wanted(self) -> u32 {
        match self {
            Operation::Get(_) => 1,
            Operation::MultiGet { keys } => keys,
            Operation::Set(_) => 0,
        }
    }
}

/// Bytes of a binary header.
pub const BINARY_HEADER_BYTES: usize = 24;
/// Binary opcodes that the generator uses.
pub mod opcode {
    /// GET.
    pub const GET: u8 = 0x00;
    /// SET.
    pub const SET: u8 = 0x01;
    /// GET without an answer for an absent key.
    pub const GETQ: u8 = 0x09;
    /// NOOP.
    pub const NOOP: u8 = 0x0a;
}

/// Appends requests to a buffer.
#[derive(Clone, Debug)]
pub struct Renderer {
    /// The protocol spoken.
    pub protocol: Protocol,
    /// How keys look.
    pub keys: KeyShape,
    /// What is stored.
    pub values: Values,
}

impl Renderer {
    /// Appends the fetch of one key.
    pub fn get(&self, id: KeyId, buffer: &mut Vec<u8>) {
        match self.protocol {
            Protocol::Text => self.line(b"get ", id, b"\r\n", buffer),
            Protocol::Meta => self.line(b"mg ", id, b" v\r\n", buffer),
            Protocol::Binary => self.binary_get(opcode::GET, id, buffer),
        }
    }

    /// Appends the fetch of several keys in one request.
    pub fn multi_get(&self, ids: &[KeyId], buffer: &mut Vec<u8>) {
        match self.protocol {
            Protocol::Text => {
                buffer.extend_from_slice(b"get");
                ids.iter().for_each(|&id| self.line(b" ", id, b"", buffer));
                buffer.extend_from_slice(b"\r\n");
            }
            Protocol::Meta => {
                ids.iter()
                    .for_each(|&id| self.line(b"mg ", id, b" v q\r\n", buffer));
                buffer.extend_from_slice(b"mn\r\n");
            }
            Protocol::Binary => {
                ids.iter()
                    .for_each(|&id| self.binary_get(opcode::GETQ, id, buffer));
                push_binary_header(opcode::NOOP, 0, 0, 0, buffer);
            }
        }
    }

    /// Appends the storing of the key's value.
    pub fn set(&self, id: KeyId, buffer: &mut Vec<u8>) {
        let value_bytes = self.values.sizes().of(id);
        match self.protocol {
            Protocol::Text => {
                self.line(b"set ", id, b" 0 0 ", buffer);
                self.push_value_block(id, value_bytes, buffer);
            }
            Protocol::Meta => {
                self.line(b"ms ", id, b" ", buffer);
                self.push_value_block(id, value_bytes, buffer);
            }
            Protocol::Binary => {
                let key_bytes = self.keys.key_bytes();
                push_binary_header(opcode::SET, key_bytes, 8, value_bytes, buffer);
                buffer.extend_from_slice(&[0; 8]);
                self.keys.push(id, buffer);
                self.values.push(id, buffer);
            }
        }
    }

    fn line(&self, before: &[u8], id: KeyId, after: &[u8], buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(before);
        self.keys.push(id, buffer);
        buffer.extend_from_slice(after);
    }

    fn push_value_block(&self, id: KeyId, value_bytes: usize, buffer: &mut Vec<u8>) {
        push_decimal(value_bytes, buffer);
        buffer.extend_from_slice(b"\r\n");
        self.values.push(id, buffer);
        buffer.extend_from_slice(b"\r\n");
    }

    fn binary_get(&self, opcode: u8, id: KeyId, buffer: &mut Vec<u8>) {
        push_binary_header(opcode, self.keys.key_bytes(), 0, 0, buffer);
        self.keys.push(id, buffer);
    }
}

fn push_binary_header(
    opcode: u8,
    key_bytes: usize,
    extras_bytes: u8,
    value_bytes: usize,
    buffer: &mut Vec<u8>,
) {
    let body_bytes = (key_bytes + usize::from(extras_bytes) + value_bytes) as u32;
    let mut header = [0; BINARY_HEADER_BYTES];
    header[0] = 0x80;
    header[1] = opcode;
    header[2..4].copy_from_slice(&(key_bytes as u16).to_be_bytes());
    header[4] = extras_bytes;
    header[8..12].copy_from_slice(&body_bytes.to_be_bytes());
    buffer.extend_from_slice(&header);
}

fn push_decimal(mut number: usize, buffer: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::super::values::ValueSizes;
    use super::*;

    fn renderer(protocol: Protocol) -> Renderer {
        let values = Values::new(ValueSizes::fixed(8));
        Renderer {
            protocol,
            keys: KeyShape::new(8),
            values,
        }
    }

    fn rendered(protocol: Protocol, write: impl Fn(&Renderer, &mut Vec<u8>)) -> Vec<u8> {
        let mut buffer = Vec::new();
        write(&renderer(protocol), &mut buffer);
        buffer
    }

    #[test]
    fn text_requests() {
        let text = Protocol::Text;
        assert_eq!(rendered(text, |r, b| r.get(1, b)), b"get 00000001\r\n");
        assert_eq!(
            rendered(text, |r, b| r.multi_get(&[1, 2], b)),
            b"get 00000001 00000002\r\n"
        );
        assert_eq!(
            rendered(text, |r, b| r.set(1, b)),
            b"set 00000001 0 0 8\r\n00000001\r\n"
        );
    }

    #[test]
    fn meta_requests() {
        let meta = Protocol::Meta;
        assert_eq!(rendered(meta, |r, b| r.get(1, b)), b"mg 00000001 v\r\n");
        let multi = b"mg 00000001 v q\r\nmg 00000002 v q\r\nmn\r\n";
        assert_eq!(rendered(meta, |r, b| r.multi_get(&[1, 2], b)), multi);
        assert_eq!(
            rendered(meta, |r, b| r.set(1, b)),
            b"ms 00000001 8\r\n00000001\r\n"
        );
    }

    #[test]
    fn binary_set_has_header_extras_key_and_value() {
        let request = rendered(Protocol::Binary, |r, b| r.set(1, b));
        // Magic, SET, key 8, extras 8, raw data, vbucket 0, body 8 + 8 + 8 = 24.
        assert_eq!(request[..12], [0x80, 1, 0, 8, 8, 0, 0, 0, 0, 0, 0, 24]);
        assert_eq!(request[12..32], [0; 20]);
        assert_eq!(request[32..], *b"0000000100000001");
    }

    #[test]
    fn binary_multi_get_is_quiet_and_closed_by_a_noop() {
        let request = rendered(Protocol::Binary, |r, b| r.multi_get(&[1, 2], b));
        assert_eq!(request.len(), 2 * (24 + 8) + 24);
        assert_eq!((request[1], request[33], request[65]), (9, 9, 10));
    }

    #[test]
    fn decimals() {
        for number in [0, 9, 10, 1_000_000, usize::MAX] {
            let mut buffer = Vec::new();
            push_decimal(number, &mut buffer);
            assert_eq!(buffer, number.to_string().as_bytes());
        }
    }
}
