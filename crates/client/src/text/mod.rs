//! Servers that know memcached's text protocol only, in one of its dialects.
//!
//! The engine speaks the binary protocol. A [`TextTranslator`] stands between it and such a server:
//! packets of requests become lines of text, lines of replies become packets. It does no I/O.
//!
//! | file | what it does |
//! |---|---|
//! | `requests` | packets of requests as text |
//! | `replies` | lines of replies as packets |
//! | `meta` | both, where there is a meta command |
//! | `pending` | what has been asked and not answered |
//!
//! What text cannot say is refused here: keys with spaces or control characters, and, without meta
//! commands, deletion by CAS token. Without them text tells no CAS token with what it stores, so
//! the token of a store's answer is 0.

mod meta;
mod pending;
mod replies;
mod requests;
#[cfg(test)]
mod tests;

use farcache_fabric::tcp::Translator;
use pending::Pending;
use std::collections::VecDeque;

/// Which commands are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// `get`, `set` and so on.
    #[default]
    Classic,
    /// `mg`, `ms`, `md`, `ma` and `mn`, and the classic commands for what these cannot say
    /// (`stats`, `flush_all`, ...).
    Meta,
}

/// Translates one connection.
#[derive(Debug, Default)]
pub struct TextTranslator {
    requests: requests::Requests,
    replies: replies::Replies,
    /// In the order in which the server answers.
    pending: VecDeque<Pending>,
}

impl TextTranslator {
    /// For a connection on which nothing has been asked.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        TextTranslator {
            requests: requests::Requests::new(dialect),
            ..TextTranslator::default()
        }
    }
}

impl Translator for TextTranslator {
    fn requests(&mut self, packets: &[u8], text: &mut Vec<u8>) -> Result<(), &'static str> {
        self.requests.take(packets, &mut self.pending, text)
    }

    fn replies(
        &mut self,
        received: &[u8],
        packets: &mut Vec<u8>,
        text: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        self.replies
            .take(received, &mut self.pending, packets, text)
    }
}
