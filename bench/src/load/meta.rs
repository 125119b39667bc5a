//! Replies to meta gets and sets, read by those who look at every value themselves.

use super::connection::Replies;
use super::scanner::BadReply;

/// Longest first line of a reply.
const LINE_BYTES_MAX: usize = 2048;

/// Looks at values.
pub trait Judge {
    /// What a request asks for.
    type Asked: Copy;
    /// What it says of a value.
    type Seen;

    /// Looks at the value that has come for a request.
    fn look(&self, asked: Self::Asked, value: &[u8]) -> Self::Seen;
}

/// An answer to a meta get or set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<Seen> {
    /// A value.
    Value(Seen),
    /// There is none.
    Absent,
    /// Done.
    Done,
    /// An error.
    Error,
}

/// Reads the replies of one connection.
#[derive(Debug)]
pub struct MetaReplies<J> {
    judge: J,
    first_error: Option<String>,
}

impl<J> MetaReplies<J> {
    /// With this look at values.
    pub fn new(judge: J) -> Self {
        MetaReplies {
            judge,
            first_error: None,
        }
    }

    /// The first error that the server answered with.
    pub fn first_error(&self) -> Option<&str> {
        self.first_error.as_deref()
    }
}

fn bad(line: &[u8]) -> BadReply {
    BadReply(String::from_utf8_lossy(line).into_owned())
}

impl<J: Judge> Replies for MetaReplies<J> {
    type Asked = J::Asked;
    type Answer = Answer<J::Seen>;

    fn read(
        &mut self,
        input: &[u8],
        asked: J::Asked,
    ) -> Result<(usize, Option<Self::Answer>), BadReply> {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            return match input.len() {
                0..LINE_BYTES_MAX => Ok((0, None)),
                _ => Err(bad(&input[..64])),
            };
        };
        let used = end + 1;
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        match line {
            b"HD" => return Ok((used, Some(Answer::Done))),
            b"EN" => return Ok((used, Some(Answer::Absent))),
            _ => {}
        }
        let Some(length) = line.strip_prefix(b"VA ") else {
            self.first_error.get_or_insert_with(|| bad(line).0);
            return Ok((used, Some(Answer::Error)));
        };
        let length = std::str::from_utf8(length)
            .ok()
            .and_then(|text| text.parse().ok());
        let length: usize = length.ok_or_else(|| bad(line))?;
        let Some(rest) = input.get(used..used + length + 2) else {
            return Ok((0, None));
        };
        let (value, line_end) = rest.split_at(length);
        if line_end != b"\r\n" {
            return Err(bad(line_end));
        }
        let seen = self.judge.look(asked, value);
        Ok((used + length + 2, Some(Answer::Value(seen))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Length;

    impl Judge for Length {
        type Asked = ();
        type Seen = usize;

        fn look(&self, (): (), value: &[u8]) -> usize {
            value.len()
        }
    }

    fn read(input: &[u8]) -> Result<(usize, Option<Answer<usize>>), BadReply> {
        MetaReplies::new(Length).read(input, ())
    }

    #[test]
    fn replies_are_read_once_they_are_whole() {
        let whole = b"VA 3\r\nabc\r\nEN\r\n";
        for end in 0..11 {
            assert_eq!(read(&whole[..end]), Ok((0, None)), "{end}");
        }
        assert_eq!(read(whole), Ok((11, Some(Answer::Value(3)))));
        assert_eq!(read(b"EN\r\n"), Ok((4, Some(Answer::Absent))));
        assert_eq!(read(b"HD\r\nHD"), Ok((4, Some(Answer::Done))));
    }

    #[test]
    fn errors_are_kept_and_what_is_no_reply_is_refused() {
        let mut replies = MetaReplies::new(Length);
        let answer = replies.read(b"SERVER_ERROR out of memory\r\n", ());
        assert_eq!(answer, Ok((28, Some(Answer::Error))));
        assert_eq!(replies.first_error(), Some("SERVER_ERROR out of memory"));
        assert!(read(b"VA x\r\n").is_err());
        assert!(read(b"VA 3\r\nabcd\r\n").is_err());
        assert!(read(&[b'x'; LINE_BYTES_MAX]).is_err());
    }
}
