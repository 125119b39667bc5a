//! Tells a server that is cut off from one whose etcd is gone for everybody.
//!
//! A server that has not reached etcd for too long may have been given up by others, and must not
//! answer. But where all others are without etcd, too, nobody can be given up: whoever reaches it
//! again counts absences anew. So such a server asks all others of its map; as long as each of them
//! says that it does not reach etcd and has the same map, the server answers on for another grace
//! from when it asked. A server whose process has ended cannot give anybody up either.

use super::Place;
use super::lease::Lease;
use crate::dial::{self, hello};
use crate::logging::EVENTS;
use farcache_cluster::map::{Member, MemberState};
use farcache_cluster::{ClusterMap, ServerId};
use farcache_membership::etcd::{EtcdDirectory, JoinedDirectory};
use farcache_membership::{Directory, since_boot};
use farcache_peers::frame::{HEAD_BYTES, Head, Kind};
use farcache_peers::greeting::Secret;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Shortest and longest time between two looks.
const INTERVALS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(2)];

/// How many servers are asked at one time.
const ASKED_AT_ONCE: usize = 32;

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// For how long etcd goes on with what it was asked before it lost its quorum, with some to spare:
/// it gives requests up after 5 s and two elections.
const PENDING_MAX: Duration = Duration::from_secs(10);

const REQUEST: &[u8] = b"stats cluster\r\n";
const END: &[u8] = b"END\r\n";

/// What the thread needs.
pub(super) struct Witness {
    lease: Arc<Lease>,
    /// For how long a server that is found absent keeps its keys.
    grace: Duration,
    /// After this time without etcd nothing is left of what was asked of it before.
    settled_after: Duration,
    place: Place,
    secret: Option<Secret>,
    interval: Duration,
}

/// The thread ends when this is dropped.
pub struct Watching {
    _end: Sender<()>,
}

/// What another server is found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It is without etcd, for at least so long.
    WithoutEtcd(Duration),
    /// No process listens there.
    Ended,
    /// Anything else, or nothing.
    Unknown,
}

impl Witness {
    pub(super) fn new(
        etcd: &EtcdDirectory,
        lease: &Arc<Lease>,
        place: Place,
        secret: Option<Secret>,
    ) -> Witness {
        let settings = etcd.settings();
        let grace = settings.grace - settings.grace / 50;
        let interval = (settings.grace / 4).clamp(INTERVALS[0], INTERVALS[1]);
        Witness {
            lease: Arc::clone(lease),
            grace,
            settled_after: settings.certain_for().max(PENDING_MAX),
            place,
            secret,
            interval,
        }
    }

    /// Looks from time to time, on a thread of its own.
    ///
    /// # Errors
    /// When threads are exhausted.
    pub(super) fn start(self, joined: &Arc<JoinedDirectory>) -> io::Result<Watching> {
        let (end, ended) = channel();
        let joined = Arc::downgrade(joined);
        thread::Builder::new()
            .name("cluster-witness".to_owned())
            .spawn(move || self.run(&joined, &ended))?;
        Ok(Watching { _end: end })
    }

    fn run(&self, joined: &Weak<JoinedDirectory>, ended: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(self.interval) {
            let seen = joined
                .upgrade()
                .map(|joined| (joined.map(), joined.status()));
            let Some((map, status)) = seen else {
                return;
            };
            let now = Instant::now();
            let has_lease = status.lease_until.is_some_and(|until| until > now);
            if status.endpoint.is_none() && !has_lease && !status.is_replaced {
                self.ask_all(&map);
            }
            match self.lease.look() {
                Some(true) => tracing::error!(
                    target: EVENTS,
                    "cut off from etcd: this server answers for no key, as others may own them"
                ),
                Some(false) => tracing::info!(target: EVENTS, "this server answers for its keys"),
                None => {}
            }
        }
    }

    /// Prolongs the lease if all others are without etcd.
    fn ask_all(&self, map: &ClusterMap) {
        let Some(me) = self.place.id(map) else {
            return;
        };
        let asked = since_boot();
        let others = map.content().servers.iter();
        let others = others.filter(|it| it.id != me && it.state != MemberState::Gone);
        let others: Vec<&Member> = others.collect();
        let must_be_settled = self.lease.is_over();
        if self.all_without_etcd(&others, (me, map), must_be_settled) {
            self.lease.prolong(asked + self.grace);
        }
    }

    fn all_without_etcd(
        &self,
        others: &[&Member],
        (me, map): (ServerId, &ClusterMap),
        must_be_settled: bool,
    ) -> bool {
        let waiting = Mutex::new((others.iter(), true));
        let next = || waiting.lock().expect("no panic while held").0.next();
        thread::scope(|scope| {
            for _ in 0..others.len().min(ASKED_AT_ONCE) {
                scope.spawn(|| {
                    while let Some(other) = next() {
                        let found = self.ask(other, (me, map));
                        let agrees = agrees(found, must_be_settled, self.settled_after);
                        waiting.lock().expect("no panic while held").1 &= agrees;
                    }
                });
            }
        });
        waiting.into_inner().expect("no panic while held").1
    }

    fn ask(&self, other: &Member, (me, map): (ServerId, &ClusterMap)) -> Found {
        let asked = dial::connect_tcp(&other.addresses[0], INTERVALS[1])
            .and_then(|stream| self.answer(stream, other, (me, map)));
        match asked {
            Ok(answer) => read(&answer, map.epoch().0),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Found::Ended,
            Err(_) => Found::Unknown,
        }
    }

    /// What the other server says of its cluster: as a peer where there is a secret, and as any
    /// client may ask otherwise.
    fn answer(
        &self,
        mut stream: TcpStream,
        other: &Member,
        (me, map): (ServerId, &ClusterMap),
    ) -> io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(INTERVALS[1]))?;
        stream.set_write_timeout(Some(INTERVALS[1]))?;
        if self.secret.is_none() {
            stream.write_all(REQUEST)?;
            return read_text(&mut stream);
        }
        dial::greet(&mut stream, &hello(me, other.id, map), self.secret.as_ref())?;
        let head = Head {
            kind: Kind::Request,
            number: 0,
            epoch: map.epoch().0,
            body_bytes: REQUEST.len() as u32,
        };
        stream.write_all(&head.encode())?;
        stream.write_all(REQUEST)?;
        read_frames(&mut stream)
    }
}

/// Whether this server has given nobody up, and gives nobody up within a grace from now.
fn agrees(found: Found, must_be_settled: bool, settled_after: Duration) -> bool {
    match found {
        Found::WithoutEtcd(since) => !must_be_settled || since >= settled_after,
        Found::Ended => true,
        Found::Unknown => false,
    }
}

fn read_text(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut room = [0; 4096];
    while !answer.ends_with(END) && !answer.ends_with(b"ERROR\r\n") {
        let bytes = stream.read(&mut room)?;
        if bytes == 0 || answer.len() > ANSWER_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        answer.extend_from_slice(&room[..bytes]);
    }
    Ok(answer)
}

fn read_frames(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    loop {
        let mut bytes = [0; HEAD_BYTES];
        stream.read_exact(&mut bytes)?;
        let head = Head::decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        let is_part = matches!(head.kind, Kind::Part | Kind::Reply);
        if !is_part || answer.len() + head.body_bytes as usize > ANSWER_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let begin = answer.len();
        answer.resize(begin + head.body_bytes as usize, 0);
        stream.read_exact(&mut answer[begin..])?;
        if head.kind == Kind::Reply {
            return Ok(answer);
        }
    }
}

/// What an answer to [`REQUEST`] says of a server, for one that has the map of this epoch.
fn read(answer: &[u8], epoch: u64) -> Found {
    let text = String::from_utf8_lossy(answer);
    let stat = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("STAT "));
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
    };
    let number = |name| stat(name).and_then(|value| value.parse::<u64>().ok());
    let is_without = stat("etcd") == Some("unreachable")
        && number("lease_milliseconds_left") == Some(0)
        && number("epoch") == Some(epoch);
    match number("etcd_unreachable_milliseconds").filter(|_| is_without) {
        Some(since) => Found::WithoutEtcd(Duration::from_millis(since)),
        None => Found::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(epoch: u64, etcd: &str, left: u64) -> Vec<u8> {
        let text = format!(
            "STAT source etcd\r\nSTAT epoch {epoch}\r\nSTAT etcd {etcd}\r\n\
             STAT etcd_unreachable_milliseconds 900\r\nSTAT lease_milliseconds_left {left}\r\nEND\r\n"
        );
        text.into_bytes()
    }

    #[test]
    fn a_server_without_etcd_says_so_under_the_same_map() {
        let since = Duration::from_millis(900);
        assert_eq!(
            read(&answer(5, "unreachable", 0), 5),
            Found::WithoutEtcd(since)
        );
        for (epoch, etcd, left) in [
            (6, "unreachable", 0),
            (4, "unreachable", 0),
            (5, "127.0.0.1:2379", 0),
            (5, "unreachable", 1),
        ] {
            assert_eq!(read(&answer(epoch, etcd, left), 5), Found::Unknown);
        }
        assert_eq!(read(b"ERROR\r\n", 5), Found::Unknown);
        assert_eq!(read(b"\xff\r\nSTAT epoch", 5), Found::Unknown);
    }

    #[test]
    fn whoever_is_over_waits_until_nothing_is_pending_in_etcd() {
        let settled = Duration::from_secs(10);
        let since = |seconds| Found::WithoutEtcd(Duration::from_secs(seconds));
        assert!(agrees(since(0), false, settled) && agrees(since(10), true, settled));
        assert!(!agrees(since(9), true, settled));
        for must_be_settled in [false, true] {
            assert!(agrees(Found::Ended, must_be_settled, settled));
            assert!(!agrees(Found::Unknown, must_be_settled, settled));
        }
    }

    #[test]
    fn answers_of_peers_come_in_frames_up_to_the_last() {
        let frame = |kind, body: &[u8]| {
            let head = Head {
                kind,
                number: 0,
                epoch: 1,
                body_bytes: body.len() as u32,
            };
            [&head.encode()[..], body].concat()
        };
        let bytes = [frame(Kind::Part, b"STAT a b\r\n"), frame(Kind::Reply, END)].concat();
        assert_eq!(
            read_frames(&mut &bytes[..]).unwrap(),
            b"STAT a b\r\nEND\r\n"
        );
        assert!(read_frames(&mut &bytes[..40]).is_err());
        assert!(read_frames(&mut &frame(Kind::NotOwner, b"")[..]).is_err());
        assert!(read_text(&mut &b"STAT a b\r\n"[..]).is_err());
    }
}
