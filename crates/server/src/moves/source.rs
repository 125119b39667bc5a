//! One old owner: what is asked of it next, and the connection on which it is.
//!
//! It is connected to in a thread of its own: a host that answers nothing takes seconds, in which
//! other old owners go on being asked.

use super::line::Line;
use super::{Home, ServerMoves};
use crate::dial::hello;
use crate::logging::EVENTS;
use farcache_cluster::ServerId;
use farcache_moving::course::Trouble;
use farcache_moving::{Course, Pace, Step, Stream};
use farcache_peers::frame::Kind;
use farcache_peers::link::Answer;
use farcache_peers::moves::Fetch;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Instant;

/// A stream with its connection.
pub struct Source {
    /// How it goes on.
    pub course: Course,
    way: Way,
}

/// A question, as it is sent.
type Question = (Kind, Vec<u8>);

/// The way to an old owner.
pub enum Way {
    /// There is none.
    None,
    /// What is asked meanwhile is sent when it has been connected to.
    Connecting {
        /// What comes of it.
        outcome: Receiver<Result<Line, Trouble>>,
        /// What is asked meanwhile.
        questions: Vec<Question>,
    },
    /// There is a connection.
    There(Line),
}

impl Way {
    /// This way, if it was made some time ago and leads there still; none otherwise, so that it is
    /// made anew.
    pub fn if_open(self) -> Way {
        let Way::Connecting { outcome, questions } = self else {
            return Way::None;
        };
        match outcome.try_recv() {
            Ok(Ok(line)) if line.is_open() => Way::There(line),
            Ok(_) | Err(TryRecvError::Disconnected) => Way::None,
            Err(TryRecvError::Empty) => Way::Connecting { outcome, questions },
        }
    }
}

impl Source {
    /// A stream with the way to its old owner, if there is one.
    pub fn new(course: Course, way: Way) -> Source {
        Source { course, way }
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
        if matches!(self.way, Way::None) {
            self.way = connect(self.stream().from, home)?;
        }
        match &mut self.way {
            Way::Connecting { questions, .. } => questions.push((kind, body)),
            Way::There(_) | Way::None => self.send((kind, body), home)?,
        }
        Ok(())
    }

    /// Sends what was asked while it was connected to, once it is.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub fn go_on(&mut self, home: &dyn Home) -> Result<(), Trouble> {
        let Way::Connecting { outcome, .. } = &self.way else {
            return Ok(());
        };
        let line = match outcome.try_recv() {
            Ok(connected) => connected?,
            Err(TryRecvError::Empty) => return Ok(()),
            Err(TryRecvError::Disconnected) => return Err(Trouble::Silent),
        };
        let before = std::mem::replace(&mut self.way, Way::There(line));
        if let Way::Connecting { questions, .. } = before {
            for question in questions {
                self.send(question, home)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, (kind, body): Question, home: &dyn Home) -> Result<(), Trouble> {
        let from = self.stream().from;
        let Way::There(line) = &mut self.way else {
            return Err(Trouble::Silent);
        };
        let sent = line.send(kind, home.map().epoch().0, &body);
        sent.map_err(|error| {
            tracing::debug!(%error, from = from.0, "a server that gives keys cannot be asked");
            Trouble::Silent
        })
    }

    /// The connection, where there is one.
    pub fn line(&self) -> Option<&Line> {
        match &self.way {
            Way::There(line) => Some(line),
            Way::None | Way::Connecting { .. } => None,
        }
    }

    /// Ends the connection: nothing more is asked.
    pub fn close(&mut self) {
        self.way = Way::None;
    }

    /// Reads what has come: the bodies of the answers, and the trouble behind them, if there is
    /// any.
    pub fn hear(&mut self) -> (Vec<Vec<u8>>, Option<Trouble>) {
        let (mut answers, mut bodies) = (Vec::new(), Vec::new());
        let Way::There(line) = &mut self.way else {
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
        self.close();
        self.course.on_trouble(trouble, now_ms, pace);
    }

    /// Whether the old owner has not answered for too long.
    pub fn is_silent(&self, now: Instant) -> bool {
        self.line().is_some_and(|line| line.is_silent(now))
    }
}

/// Begins to connect; the mover is told when that has come to an end.
///
/// # Errors
/// The map in force does not list both servers, or threads are exhausted.
pub fn connect(from: ServerId, home: &dyn Home) -> Result<Way, Trouble> {
    let map = home.map();
    let (Some(me), Some(server)) = (home.name_in(&map), map.server(from)) else {
        return Err(Trouble::Silent);
    };
    let hello = hello(me, from, &map);
    let (addresses, secret) = (server.addresses.clone(), home.secret().cloned());
    let moves: Arc<ServerMoves> = Arc::clone(home.moves());
    let (tell, outcome) = channel();
    let work = move || {
        let connected = Line::connect(&addresses, &hello, secret.as_ref());
        if connected.is_ok() {
            tracing::info!(target: EVENTS, from = from.0, "connected to a server that gives keys");
        }
        let connected = connected.map_err(|(trouble, reason)| {
            tracing::info!(
                target: EVENTS, from = from.0, reason,
                "cannot reach a server that gives keys"
            );
            trouble
        });
        // Nobody waits for it where the stream has ended meanwhile.
        let _ = tell.send(connected);
        moves.wake();
    };
    let thread = thread::Builder::new().name("mover-connects".to_owned());
    let started = thread.spawn(work);
    started.map_err(|error| {
        tracing::warn!(target: EVENTS, %error, "no thread to reach a server that gives keys");
        Trouble::Silent
    })?;
    Ok(Way::Connecting {
        outcome,
        questions: Vec::new(),
    })
}
