//! All servers that a pass asks. Answers are taken as they come, whoever sends them, so that no
//! server waits for a slower one.

use super::source::Source;
use farcache_cluster::ServerId;
use farcache_peers::link::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// The servers, with the connections to them; `T` is what one is asked for.
pub struct Sources<T> {
    all: Vec<(ServerId, Source<T>)>,
    buffer: Box<[u8]>,
}

/// What has come.
pub struct Received<T> {
    pub answers: Vec<(ServerId, T, Answer)>,
    /// Servers that cannot be asked any more.
    pub lost: Vec<ServerId>,
}

impl<T> Sources<T> {
    /// The connections that can be used.
    pub fn new(sockets: Vec<(ServerId, OwnedFd)>, epoch: u64, timeout: Duration) -> Sources<T> {
        let open = |(server, socket)| Some((server, Source::new(socket, epoch, timeout).ok()?));
        Sources {
            all: sockets.into_iter().filter_map(open).collect(),
            buffer: vec![0; READ_BYTES].into(),
        }
    }

    /// Who they are.
    pub fn ids(&self) -> Vec<ServerId> {
        self.all.iter().map(|(server, _)| *server).collect()
    }

    /// Has a request sent with the next [`Sources::flush`]; false where that server is not there.
    pub fn ask(&mut self, to: ServerId, what_for: T, request: &[u8]) -> bool {
        let source = self.all.iter_mut().find(|source| source.0 == to);
        source.is_some_and(|(_, source)| source.ask(what_for, request).is_ok())
    }

    /// Sends what was asked for; returns those that cannot be asked any more.
    pub fn flush(&mut self) -> Vec<ServerId> {
        let all = self.all.iter_mut();
        all.filter_map(|(server, source)| source.flush().is_err().then_some(*server))
            .collect()
    }

    /// Asks this one no more.
    pub fn leave(&mut self, server: ServerId) {
        self.all.retain(|source| source.0 != server);
    }

    /// Whether answers are on their way.
    pub fn are_awaited(&self) -> bool {
        self.all.iter().any(|(_, source)| source.is_awaited())
    }

    /// Takes what has come, for which it waits no longer than this.
    ///
    /// # Errors
    /// The system's.
    pub fn receive(&mut self, wait_max: Duration) -> io::Result<Received<T>> {
        let are_ready = self.await_any(wait_max)?;
        let (mut answers, mut lost) = (Vec::new(), Vec::new());
        let awaited = self.all.iter_mut().filter(|one| one.1.is_awaited());
        for ((server, source), is_ready) in awaited.zip(are_ready) {
            let received = match is_ready {
                true => source.receive(&mut self.buffer, |what_for, answer| {
                    answers.push((*server, what_for, answer));
                }),
                false if source.is_late() => Err(io::ErrorKind::TimedOut.into()),
                false => Ok(()),
            };
            if let Err(error) = received {
                tracing::warn!(peer = server.0, %error, "a repair has lost another server");
                lost.push(*server);
            }
        }
        Ok(Received { answers, lost })
    }

    /// Which of the awaited ones have sent something.
    fn await_any(&self, wait_max: Duration) -> io::Result<Vec<bool>> {
        let awaited = self.all.iter().filter(|(_, source)| source.is_awaited());
        let mut polled: Vec<PollFd<'_>> = awaited
            .map(|(_, source)| PollFd::new(source, PollFlags::IN))
            .collect();
        let wait_max = Timespec::try_from(wait_max).ok();
        match poll(&mut polled, wait_max.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(polled.iter().map(|one| !one.revents().is_empty()).collect())
    }
}
