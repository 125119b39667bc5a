//! Replies read from a byte stream with the least work that still notices a wrong one.
//!
//! A scanner looks at the head of each reply, skips the value by its length, and checks the line
//! end after it. With verification it compares every byte of every value as well.

use super::connection::Replies;
use super::protocol::{BINARY_HEADER_BYTES, Operation, Protocol, opcode};
use super::values::Values;

/// Longest head of a reply; more bytes than this without a line end are no reply.
const HEAD_BYTES_MAX: usize = 2048;

/// How one request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Keys found.
    pub hits: u32,
    /// A value was stored.
    pub stored: bool,
    /// The server answered with an error.
    pub error: bool,
}

/// A reply that the protocol does not allow here, or a wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadReply(pub String);

impl std::fmt::Display for BadReply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "unexpected reply: {}", self.0)
    }
}

impl std::error::Error for BadReply {}

/// Where a scan stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// The request is answered.
    Finished(Outcome),
    /// More bytes are needed.
    Incomplete,
}

/// What the head of a part of a reply announces.
enum Part {
    /// A value, of which these bytes of the input are the head.
    Value {
        head_bytes: usize,
        value_bytes: usize,
    },
    /// The end of the whole reply.
    End {
        bytes: usize,
        stored: bool,
        error: bool,
    },
    /// The head is not there yet.
    Incomplete,
}

/// Reads the replies of one connection.
#[derive(Debug)]
pub struct Scanner {
    protocol: Protocol,
    key_bytes: usize,
    /// Values to compare with, if every value is verified.
    verify: Option<Values>,
    /// Bytes of the present value and its line end that have not been seen.
    left_bytes: Option<usize>,
    hits: u32,
    first_error: Option<String>,
}

impl Replies for Scanner {
    type Asked = Operation;
    type Answer = Outcome;

    fn read(
        &mut self,
        input: &[u8],
        asked: Operation,
    ) -> Result<(usize, Option<Outcome>), BadReply> {
        let (used, scan) = self.scan(input, asked)?;
        let answer = match scan {
            Scan::Finished(outcome) => Some(outcome),
            Scan::Incomplete => None,
        };
        Ok((used, answer))
    }
}

impl Scanner {
    /// A scanner for keys of `key_bytes`; compares whole values if `verify` is given.
    pub fn new(protocol: Protocol, key_bytes: usize, verify: Option<Values>) -> Self {
        Scanner {
            protocol,
            key_bytes,
            verify,
            left_bytes: None,
            hits: 0,
            first_error: None,
        }
    }

    /// The first error that the server answered with.
    pub fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }

    /// Reads on in the reply to `operation`; returns how many bytes it is done with.
    ///
    /// # Errors
    /// If the bytes are no reply to it, or a value is not the one that was stored.
    pub fn scan(&mut self, input: &[u8], operation: Operation) -> Result<(usize, Scan), BadReply> {
        let mut used = 0;
        loop {
            if let Some(left_bytes) = self.left_bytes.take() {
                let bytes = left_bytes.min(input.len() - used);
                used += bytes;
                if bytes < left_bytes {
                    self.left_bytes = Some(left_bytes - bytes);
                    return Ok((used, Scan::Incomplete));
                }
                self.hits += 1;
                if self.ends_with_value(operation) {
                    return Ok((used, self.finish(false, false)));
                }
            }
            match self.part(&input[used..], operation)? {
                Part::Incomplete => return Ok((used, Scan::Incomplete)),
                Part::End {
                    bytes,
                    stored,
                    error,
                } => {
                    return Ok((used + bytes, self.finish(stored, error)));
                }
                Part::Value {
                    head_bytes,
                    value_bytes,
                } => {
                    let rest = &input[used + head_bytes..];
                    if !self.value_may_begin(rest, value_bytes, operation)? {
                        return Ok((used, Scan::Incomplete));
                    }
                    self.left_bytes = Some(value_bytes + self.line_end().len());
                    used += head_bytes;
                }
            }
        }
    }

    fn finish(&mut self, stored: bool, error: bool) -> Scan {
        Scan::Finished(Outcome {
            hits: std::mem::take(&mut self.hits),
            stored,
            error,
        })
    }

    /// Whether the value may be passed over now. A value to be verified must be there whole.
    fn value_may_begin(
        &self,
        rest: &[u8],
        value_bytes: usize,
        operation: Operation,
    ) -> Result<bool, BadReply> {
        let whole_bytes = value_bytes + self.line_end().len();
        if rest.len() < whole_bytes {
            return Ok(self.verify.is_none());
        }
        if !rest[value_bytes..whole_bytes].starts_with(self.line_end()) {
            return Err(bad(&rest[value_bytes..whole_bytes]));
        }
        match &self.verify {
            Some(values) => verify_value(values, &rest[..value_bytes], operation).map(|()| true),
            None => Ok(true),
        }
    }

    /// Whether a value is all of the reply.
    fn ends_with_value(&self, operation: Operation) -> bool {
        self.protocol != Protocol::Text && matches!(operation, Operation::Get(_))
    }

    fn line_end(&self) -> &'static [u8] {
        if self.protocol == Protocol::Binary {
            b""
        } else {
            b"\r\n"
        }
    }

    fn part(&mut self, input: &[u8], operation: Operation) -> Result<Part, BadReply> {
        match self.protocol {
            Protocol::Text => self.text_part(input, operation),
            Protocol::Meta => self.meta_part(input, operation),
            Protocol::Binary => self.binary_part(input, operation),
        }
    }

    fn text_part(&mut self, input: &[u8], operation: Operation) -> Result<Part, BadReply> {
        let is_get = !matches!(operation, Operation::Set(_));
        if is_get && input.starts_with(b"VALUE ") {
            return value_head(input, "VALUE ".len() + self.key_bytes + " 0 ".len());
        }
        let (end, stored): (&[u8], bool) = if is_get {
            (b"END\r\n", false)
        } else {
            (b"STORED\r\n", true)
        };
        if input.starts_with(end) {
            return Ok(Part::End {
                bytes: end.len(),
                stored,
                error: false,
            });
        }
        self.error_line(input)
    }

    fn meta_part(&mut self, input: &[u8], operation: Operation) -> Result<Part, BadReply> {
        if input.starts_with(b"VA ") && !matches!(operation, Operation::Set(_)) {
            return value_head(input, "VA ".len());
        }
        let (end, stored): (&[u8], bool) = match operation {
            Operation::Get(_) => (b"EN\r\n", false),
            Operation::MultiGet { .. } => (b"MN\r\n", false),
            Operation::Set(_) => (b"HD\r\n", true),
        };
        if input.starts_with(end) {
            return Ok(Part::End {
                bytes: end.len(),
                stored,
                error: false,
            });
        }
        self.error_line(input)
    }

    fn binary_part(&mut self, input: &[u8], operation: Operation) -> Result<Part, BadReply> {
        let Some(head) = input.first_chunk::<BINARY_HEADER_BYTES>() else {
            return Ok(Part::Incomplete);
        };
        let status = u16::from_be_bytes([head[6], head[7]]);
        let body_bytes = u32::from_be_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let extras_bytes = usize::from(head[4]);
        let is_value = matches!(head[1], opcode::GET | opcode::GETQ) && status == 0;
        let wanted = match operation {
            Operation::Get(_) => head[1] == opcode::GET,
            Operation::MultiGet { .. } => matches!(head[1], opcode::GETQ | opcode::NOOP),
            Operation::Set(_) => head[1] == opcode::SET,
        };
        if head[0] != 0x81 || !wanted || extras_bytes > body_bytes {
            return Err(bad(head));
        }
        if is_value {
            let head_bytes = BINARY_HEADER_BYTES + extras_bytes;
            let value_bytes = body_bytes - extras_bytes;
            return Ok(match input.len() < head_bytes {
                true => Part::Incomplete,
                false => Part::Value {
                    head_bytes,
                    value_bytes,
                },
            });
        }
        self.binary_end(input, status, body_bytes, operation)
    }

    fn binary_end(
        &mut self,
        input: &[u8],
        status: u16,
        body_bytes: usize,
        operation: Operation,
    ) -> Result<Part, BadReply> {
        let bytes = BINARY_HEADER_BYTES + body_bytes;
        if input.len() < bytes {
            return Ok(Part::Incomplete);
        }
        let is_set = matches!(operation, Operation::Set(_));
        /// Status "key not found".
        const NOT_FOUND: u16 = 1;
        let error = status != 0 && (is_set || status != NOT_FOUND);
        if error {
            self.note_error(&input[BINARY_HEADER_BYTES..bytes]);
        }
        Ok(Part::End {
            bytes,
            stored: is_set && !error,
            error,
        })
    }

    /// Any other line: an error of the server, if the line is whole and says so.
    fn error_line(&mut self, input: &[u8]) -> Result<Part, BadReply> {
        let Some(line_bytes) = input
            .windows(2)
            .take(HEAD_BYTES_MAX)
            .position(|w| w == b"\r\n")
        else {
            return match input.len() {
                0..HEAD_BYTES_MAX => Ok(Part::Incomplete),
                _ => Err(bad(input)),
            };
        };
        let line = &input[..line_bytes];
        let starts: [&[u8]; 5] = [
            b"SERVER_ERROR",
            b"CLIENT_ERROR",
            b"ERROR",
            b"NOT_STORED",
            b"NS",
        ];
        if !starts.iter().any(|start| line.starts_with(start)) {
            return Err(bad(line));
        }
        self.note_error(line);
        Ok(Part::End {
            bytes: line_bytes + 2,
            stored: false,
            error: true,
        })
    }

    fn note_error(&mut self, text: &[u8]) {
        self.first_error
            .get_or_insert_with(|| String::from_utf8_lossy(text).into_owned());
    }
}

/// Reads the value's size, which starts at `size_at` and ends the line.
fn value_head(input: &[u8], size_at: usize) -> Result<Part, BadReply> {
    let mut value_bytes = 0;
    for (position, &byte) in input.iter().enumerate().skip(size_at) {
        match byte {
            b'0'..=b'9' => value_bytes = value_bytes * 10 + usize::from(byte - b'0'),
            b'\r' if position + 1 == input.len() => break,
            b'\r' => {
                return Ok(Part::Value {
                    head_bytes: position + 2,
                    value_bytes,
                });
            }
            _ => return Err(bad(input)),
        }
    }
    Ok(Part::Incomplete)
}

fn verify_value(values: &Values, value: &[u8], operation: Operation) -> Result<(), BadReply> {
    let right = match operation {
        Operation::Get(id) => values.matches(id, value),
        _ => values.identify(value).is_some(),
    };
    if right { Ok(()) } else { Err(bad(value)) }
}

fn bad(bytes: &[u8]) -> BadReply {
    let shown = &bytes[..bytes.len().min(80)];
    BadReply(shown.escape_ascii().to_string())
}

#[cfg(test)]
mod tests;
