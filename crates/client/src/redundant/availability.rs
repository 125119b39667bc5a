//! Which servers are down, as the operations of this client have found.

use crate::{ConnectStage, Error};
use farcache_cluster::ServerId;
use rustix::io::Errno;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// So long, in milliseconds, reads do not ask a server again that was down: each attempt to connect
/// costs more than the read itself.
const DOWN_KNOWN_MS: u64 = 1000;

/// What is known of one server, in milliseconds since the client began, and 1 more.
#[derive(Clone, Copy, Default)]
struct Known {
    /// When nobody listened at its address, where that was so when it was last asked. 0 where it is
    /// up.
    down_ms: u64,
    /// When it was up again after it had been down; 0 where it never was.
    returned_ms: u64,
}

/// What is known of all of them; threads share it.
pub(super) struct Availability {
    /// By their indexes; none at the end of which nothing is known.
    servers: RwLock<Vec<Known>>,
    began: Instant,
    /// How long an operation may take.
    timeout: Duration,
}

impl Availability {
    /// Of servers all of which are up, where operations may take so long.
    pub fn new(timeout: Duration) -> Availability {
        Availability {
            servers: RwLock::default(),
            began: Instant::now(),
            timeout,
        }
    }

    fn of(&self, server: ServerId) -> Known {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        let known = servers.get(server.0 as usize).copied();
        known.unwrap_or_default()
    }

    /// Never 0.
    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64 + 1
    }

    /// Whether it was down when it was last asked.
    pub fn is_down(&self, server: ServerId) -> bool {
        self.of(server).down_ms > 0
    }

    /// Whether it was down when it was asked a moment ago.
    pub fn was_just_down(&self, server: ServerId) -> bool {
        let noted_ms = self.of(server).down_ms;
        noted_ms > 0 && self.now_ms() - noted_ms < DOWN_KNOWN_MS
    }

    /// Notes what an operation has found.
    pub fn note_down(&self, server: ServerId, is_down: bool) {
        let was_down = self.is_down(server);
        if !is_down && !was_down {
            return;
        }
        let (index, now_ms) = (server.0 as usize, self.now_ms());
        let servers = self.servers.write();
        let mut servers = servers.unwrap_or_else(PoisonError::into_inner);
        if servers.len() <= index {
            servers.resize(index + 1, Known::default());
        }
        let known = &mut servers[index];
        if is_down {
            known.down_ms = now_ms;
        } else if known.down_ms > 0 {
            (known.down_ms, known.returned_ms) = (0, now_ms);
        }
    }

    /// Whether a server is up, and has been for so long that nobody whose operation is under way
    /// takes it for down.
    pub fn is_known_to_all(&self, server: ServerId) -> bool {
        let Known {
            down_ms,
            returned_ms,
        } = self.of(server);
        let since_ms = self.now_ms() - returned_ms;
        let is_settled = returned_ms == 0 || u128::from(since_ms) > self.timeout.as_millis();
        is_settled && down_ms == 0
    }

    /// Whether an error says that nobody listens at the server's address: its process has ended,
    /// and its memory with it. A server that is silent may be alive, and reached by others.
    pub fn is_gone(&self, server: ServerId, error: &Error) -> bool {
        match error {
            Error::Connect(error) => {
                let errno = error.errno.map(Errno::from_raw_os_error);
                error.stage == ConnectStage::Refused
                    && matches!(errno, Some(Errno::CONNREFUSED | Errno::NOENT))
            }
            Error::ServerDead => self.is_down(server),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectError;

    const SERVER: ServerId = ServerId(1);

    impl Availability {
        /// As if the client had begun so much earlier, with all that was noted before.
        fn pass(&mut self, time: Duration) {
            self.began -= time;
        }
    }

    fn two() -> Availability {
        Availability::new(Duration::from_secs(3))
    }

    #[test]
    fn a_server_that_was_down_is_asked_again_after_a_moment_though_it_counts_as_down() {
        let mut availability = two();
        assert!(!availability.is_down(SERVER) && !availability.was_just_down(SERVER));
        availability.note_down(SERVER, true);
        assert!(availability.is_down(SERVER) && availability.was_just_down(SERVER));
        assert!(!availability.is_down(ServerId(0)));
        availability.pass(Duration::from_millis(DOWN_KNOWN_MS + 1));
        assert!(availability.is_down(SERVER) && !availability.was_just_down(SERVER));
    }

    #[test]
    fn a_server_that_returned_is_known_to_all_when_older_operations_have_ended() {
        let mut availability = two();
        availability.note_down(SERVER, false);
        assert!(availability.is_known_to_all(SERVER));
        availability.note_down(SERVER, true);
        availability.pass(Duration::from_secs(10));
        assert!(!availability.is_known_to_all(SERVER));
        availability.note_down(SERVER, false);
        availability.pass(Duration::from_secs(2));
        assert!(!availability.is_known_to_all(SERVER));
        availability.pass(Duration::from_secs(2));
        assert!(availability.is_known_to_all(SERVER));
    }

    #[test]
    fn only_a_refused_connection_says_that_a_server_is_gone() {
        let availability = two();
        let connect = |stage, errno: Option<Errno>| {
            let mut error = ConnectError::new(stage, "");
            error.errno = errno.map(Errno::raw_os_error);
            Error::Connect(error)
        };
        let is_gone = |error| availability.is_gone(SERVER, &error);
        assert!(is_gone(connect(
            ConnectStage::Refused,
            Some(Errno::CONNREFUSED)
        )));
        assert!(is_gone(connect(ConnectStage::Refused, Some(Errno::NOENT))));
        assert!(!is_gone(connect(ConnectStage::Refused, None)));
        assert!(!is_gone(connect(
            ConnectStage::Silent,
            Some(Errno::CONNREFUSED)
        )));
        assert!(!is_gone(Error::Timeout));
        // It is left alone after a failure: whichever that was.
        assert!(!is_gone(Error::ServerDead));
        availability.note_down(SERVER, true);
        assert!(is_gone(Error::ServerDead));
    }
}
