//! One old owner: what is asked of it next, and the connection on which it is.

use super::Home;
use super::line::Line;
use crate::dial::hello;
use crate::logging::EVENTS;
use farcache_cluster::ServerId;
use farcache_moving::course::Trouble;
use farcache_moving::{Course, Pace, Step, Stream};
use farcache_peers::frame::Kind;
use farcache_peers::link::Answer;
use farcache_peers::moves::Fetch;
use std::sync::Arc;
use std::time::Instant;

/// A stream with its connection.
pub struct Source {
    /// How it goes on.
    pub course: Course,
    /// None while there is none.
    pub line: Option<Line>,
}

impl Source {
    /// A stream to whose old owner there is no connection yet.
    pub fn new(course: Course) -> Source {
        Source { course, line: None }
    }

    /// What is brought.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.course.stream
    }

    /// Asks what `step` says.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub fn ask(&mut self, step: &Step, home: &dyn Home) -> Result<(), Trouble> {
        let instance = self.stream().instance();
        let (kind, body) = match step {
            Step::Acknowledge => (Kind::Acknowledge, Vec::new()),
            Step::Pull(pull) => (Kind::Pull, pull.encode()),
            Step::Fetch(key) => (Kind::Fetch, Fetch { instance, key }.encode()),
            Step::Wait(_) | Step::Over => return Ok(()),
        };
        let from = self.stream().from;
        let line = match &mut self.line {
            Some(line) => line,
            none => none.insert(connect(from, home)?),
        };
        let sent = line.send(kind, home.map().epoch().0, &body);
        sent.map_err(|error| {
            tracing::debug!(%error, from = from.0, "a server that gives keys cannot be asked");
            Trouble::Silent
        })
    }

    /// Reads what has come: the bodies of the answers, and the trouble behind them, if there is
    /// any.
    pub fn hear(&mut self) -> (Vec<Vec<u8>>, Option<Trouble>) {
        let (mut answers, mut bodies) = (Vec::new(), Vec::new());
        let Some(line) = &mut self.line else {
            return (bodies, None);
        };
        let mut trouble = line.receive(&mut answers).err().map(|error| {
            let from = self.course.stream.from.0;
            tracing::debug!(%error, from, "a server that gives keys does not answer");
            Trouble::Silent
        });
        for answer in answers {
            match answer {
                Answer::Reply(body) => bodies.push(body),
                Answer::NotOwner(_) => trouble = Some(Trouble::Refused),
                Answer::NotDurable | Answer::TooLarge => trouble = Some(Trouble::Silent),
            }
            if trouble.is_some() {
                // What follows is asked for again.
                break;
            }
        }
        (bodies, trouble)
    }

    /// Gives up the connection, with all that is under way on it.
    pub fn on_trouble(&mut self, trouble: Trouble, now_ms: u64, pace: &mut Pace) {
        self.line = None;
        self.course.on_trouble(trouble, now_ms, pace);
    }

    /// Whether the old owner has not answered for too long.
    pub fn is_silent(&self, now: Instant) -> bool {
        self.line.as_ref().is_some_and(|line| line.is_silent(now))
    }
}

fn connect(from: ServerId, home: &dyn Home) -> Result<Line, Trouble> {
    let map = home.map();
    let (Some(me), Some(server)) = (home.name_in(&map), map.server(from)) else {
        return Err(Trouble::Silent);
    };
    let hello = hello(me, from, &map);
    let connected = Line::connect(&server.addresses, &hello, home.secret());
    connected.map_err(|(trouble, reason)| {
        tracing::info!(
            target: EVENTS, from = from.0, reason,
            "cannot reach a server that gives keys"
        );
        trouble
    })
}
