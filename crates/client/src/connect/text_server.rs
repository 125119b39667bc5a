//! Servers that do not speak the binary protocol: finding that out, and connecting to them.

use super::exchange::{ask_noop, ask_text};
use super::{Connected, Connector, Target};
use crate::text::{Dialect, TextTranslator};
use crate::{Error, Transport};
use farcache_fabric::tcp::Stream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A server that answers text is given so many times as long for a binary answer.
const SLOWER: u32 = 20;

/// A server that answers text is given at least so long for a binary answer: the judgement lasts,
/// and a busy server may have been quick just once.
const SECOND_PATIENCE: Duration = Duration::from_secs(1);

impl Connector {
    /// Connects where the first attempt ended without an answer that could be understood: the
    /// server may speak text only, or it was busy.
    pub(super) fn connect_once_more(
        &self,
        server: &Target,
        why: Error,
        deadline: Instant,
    ) -> Result<Connected, Error> {
        let at = &server.server;
        let mut stream = self.stream(at, deadline).map_err(|_| why.clone())?;
        let begin = Instant::now();
        let deadline = begin
            .checked_add(self.answer_timeout)
            .map_or(deadline, |limit| limit.min(deadline));
        let line = ask_text(&mut stream, "version\r\n", deadline).map_err(|_| why.clone())?;
        // Who knows no `version` may still know meta commands.
        if !is_an_answer(&line) && !speaks_meta(&mut stream, deadline)? {
            return Err(why);
        }
        let is_meta_only = !is_an_answer(&line);
        // It is there, and this is how fast: had it been too busy before, it is known now how long
        // to wait.
        let patience = SECOND_PATIENCE
            .max(begin.elapsed() * SLOWER)
            .min(self.timeout);
        let begin = Instant::now();
        let mut stream = self.stream(at, begin + self.timeout)?;
        let answered = ask_noop(&mut stream, Instant::now() + patience);
        if matches!(answered, Ok(()) | Err(Error::AuthFailed(_))) {
            return self.connect_by_packets(stream, begin + self.timeout);
        }
        server.speaks_text.store(true, Ordering::Relaxed);
        if is_meta_only {
            server.speaks_meta.store(true, Ordering::Relaxed);
        }
        self.connect_by_text(server, Instant::now() + self.timeout)
    }

    /// Connects to a server that speaks text.
    pub(super) fn connect_by_text(
        &self,
        server: &Target,
        deadline: Instant,
    ) -> Result<Connected, Error> {
        if self.transport == Transport::Fabric {
            let why = "the server speaks memcached's text protocol only";
            return Err(Error::FabricUnavailable(why.into()));
        }
        let mut stream = self.stream(&server.server, deadline)?;
        if let Some(credentials) = &self.credentials {
            let words = format!("{} {}", credentials.user, credentials.password);
            let question = format!("set auth 0 0 {}\r\n{words}\r\n", words.len());
            let answer = ask_text(&mut stream, &question, deadline)?;
            if answer != "STORED" {
                return Err(Error::AuthFailed(answer.into()));
            }
        }
        let wants_meta = self.prefers_meta || server.speaks_meta.load(Ordering::Relaxed);
        let dialect = match wants_meta && speaks_meta(&mut stream, deadline)? {
            true => Dialect::Meta,
            false => Dialect::Classic,
        };
        Ok(Connected {
            stream: stream.translated(Box::new(TextTranslator::new(dialect))),
            grant: Err("the server speaks text only".into()),
            speaks_binary: false,
            map: None,
        })
    }
}

/// Whether a server knows meta commands.
fn speaks_meta(stream: &mut Stream, deadline: Instant) -> Result<bool, Error> {
    Ok(ask_text(stream, "mn\r\n", deadline)? == "MN")
}

/// Whether a line is one of memcached's; a server that wants a password first says so.
fn is_an_answer(line: &str) -> bool {
    line.starts_with("VERSION ") || line.starts_with("CLIENT_ERROR")
}
