//! Sessions and a host that writes down what it is asked: no server, socket or file is there.

mod discovery;

use farcache_base::time::Clock;
use farcache_proto::text::TimeChange;
use farcache_session::counters::{Counters, Totals};
use farcache_session::stats::{Detail, Report};
use farcache_session::watch::{EventKind, Watched};
use farcache_session::{
    Auth, Configuration, Context, Host, HostTopic, Networks, Options, Overview, ProcessorTime,
    Protocol, Reload, Replies, Service, Session, Status, UpgradeRefusal, UpgradeRequest,
};
use farcache_store::{Store, StoreConfig, StoreHandle};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What stands for the text of the cluster's map.
const MAP: &str = "the map's text";

/// Writes down what it is asked; one user, no TLS, a fabric for those who have `memory`.
#[derive(Default)]
struct Recorder {
    asked: RefCell<Vec<String>>,
    cluster: Option<Arc<Configuration>>,
}

impl Recorder {
    fn note(&self, what: impl Into<String>) {
        self.asked.borrow_mut().push(what.into());
    }
}

impl Host for Recorder {
    fn is_user(&self, name: &[u8], password: &[u8]) -> bool {
        name == b"anna" && password == b"secret"
    }

    fn note_failed_login(&self) {
        self.note("failed login");
    }

    fn publish(&self, kind: EventKind, event: fmt::Arguments<'_>) {
        self.note(format!("{}: {event}", kind.name()));
    }

    fn totals(&self) -> Totals {
        Totals {
            cmd_get: 7,
            ..Totals::default()
        }
    }

    fn reset_totals(&self) {
        self.note("reset");
    }

    fn overview(&self) -> Overview {
        Overview {
            process_id: 4711,
            processor_time: Some(ProcessorTime {
                user: Duration::from_micros(1_000_002),
                system: Duration::ZERO,
            }),
            ..Overview::default()
        }
    }

    fn report(&self, topic: HostTopic, clock: Clock, report: &mut Report<'_>) {
        report.stat(format_args!("{topic:?}"), clock.now);
    }

    fn upgrade(&self, request: UpgradeRequest<'_>) -> Result<Vec<u8>, UpgradeRefusal> {
        let has_memory = match request.networks {
            Networks::Bytes(bytes) => bytes.contains(&2),
            Networks::Names(mut names) => names.any(|name| name == b"memory"),
        };
        match request.version == 1 && has_memory {
            true => Ok(b"granted".to_vec()),
            false => Err(UpgradeRefusal::Off),
        }
    }

    fn configuration(&self) -> Option<Arc<Configuration>> {
        self.cluster.clone()
    }

    fn reload_certificates(&self) -> Reload {
        Reload::NoTls
    }

    fn set_verbosity(&self, level: u32) {
        self.note(format!("verbosity {level}"));
    }

    fn change_time(&self, _change: TimeChange) -> bool {
        false
    }

    fn stop(&self) {
        self.note("stop");
    }
}

/// Everything that a session works with.
struct Fixture {
    handle: StoreHandle,
    service: Service,
    host: Recorder,
    counters: Counters,
    session: Session,
}

impl Fixture {
    fn new(auth: Auth) -> Fixture {
        let store = Store::new(StoreConfig::default()).expect("memory for a test");
        let options = Options {
            cas: true,
            flush: true,
            shutdown_command: true,
            dump: true,
            watch: true,
            requests_per_event: 20,
        };
        let (detail, watched) = (Detail::new(b':', false), Arc::<Watched>::default());
        Fixture {
            service: Service::new(options, auth, detail, watched, store.config()),
            handle: store.handle(),
            host: Recorder::default(),
            counters: Counters::default(),
            session: Session::new(Protocol::Auto),
        }
    }

    /// What the session replies, and what its driver is to do.
    fn send(&mut self, input: &str) -> (String, Status) {
        let (_, bytes, status) = self.step(input.as_bytes());
        (String::from_utf8_lossy(&bytes).into_owned(), status)
    }

    /// One call of `advance`: how much of the input is done with, and what is replied.
    fn step(&mut self, input: &[u8]) -> (usize, Vec<u8>, Status) {
        let clock = Clock {
            now: 100,
            epoch_unix: 1_700_000_000,
        };
        self.handle.set_now(clock.now);
        let context = Context {
            store: &self.handle,
            service: &self.service,
            host: &self.host,
            forward: None,
            turn: None,
            counters: &self.counters,
            clock,
        };
        let mut replies = Replies::default();
        let (consumed, status) = self.session.advance(input, &context, &mut replies);
        let bytes = replies.contiguous().expect("small replies");
        (consumed, bytes.to_vec(), status)
    }

    /// The replies to input that comes in two pieces.
    fn answer_in_two(&mut self, input: &[u8], first_bytes: usize) -> Vec<u8> {
        let (consumed, mut answer, _) = self.step(&input[..first_bytes]);
        let (_, rest, status) = self.step(&input[consumed..]);
        assert_eq!(status, Status::NeedInput);
        answer.extend(rest);
        answer
    }

    /// With a new client, in a cluster of two servers at this version.
    fn join_cluster(&mut self, version: u64) {
        let servers = [("10.0.0.1", 11211), ("cache-2.example", 11212)];
        self.host.cluster = Some(Arc::new(Configuration::new(
            (version, version),
            MAP.into(),
            servers,
        )));
        self.session = Session::new(Protocol::Auto);
    }

    fn answer(&mut self, input: &str) -> String {
        self.send(input).0
    }

    fn asked(&self) -> Vec<String> {
        self.host.asked.take()
    }
}

#[test]
fn the_host_knows_the_users_and_hears_of_failed_logins() {
    let mut fixture = Fixture::new(Auth::Text);
    let wrong = fixture.answer("set login 0 0 10\r\nanna wrong\r\n");
    assert_eq!(wrong, "CLIENT_ERROR authentication failure\r\n");
    assert_eq!(fixture.asked(), ["failed login"]);
    assert_eq!(fixture.counters.auth_errors.get(), 1);
    let right = fixture.answer("set login 0 0 11\r\nanna secret\r\nget k\r\n");
    assert_eq!(right, "STORED\r\nEND\r\n");
    assert!(fixture.asked().is_empty());
}

#[test]
fn events_are_told_only_while_somebody_watches_their_kind() {
    let mut fixture = Fixture::new(Auth::Open);
    let requests = "set k 0 0 1\r\nv\r\nget k\r\ndelete k\r\n";
    fixture.answer(requests);
    assert!(fixture.asked().is_empty());
    let kinds = EventKind::Fetchers.bit() | EventKind::Deletions.bit();
    fixture.service.watched.set(kinds);
    fixture.answer(requests);
    assert_eq!(
        fixture.asked(),
        [
            "fetchers: type=item_get key=k status=found size=1",
            "deletions: type=deleted key=k cmd=delete"
        ]
    );
}

#[test]
fn statistics_join_what_the_host_tells_with_what_the_session_knows() {
    let mut fixture = Fixture::new(Auth::Open);
    fixture.answer("set k 0 0 1\r\nv\r\n");
    let stats = fixture.answer("stats\r\n");
    for line in [
        "STAT pid 4711\r\n",
        "STAT rusage_user 1.000002\r\n",
        "STAT cmd_get 7\r\n",
        "STAT curr_items 1\r\n",
    ] {
        assert!(stats.contains(line), "{line} is missing in {stats}");
    }
    let conns = fixture.answer("stats conns\r\n");
    assert_eq!(conns, "STAT Connections 100\r\nEND\r\n");
    assert_eq!(fixture.answer("stats reset\r\n"), "RESET\r\n");
    assert_eq!(fixture.asked(), ["reset"]);
}

#[test]
fn what_only_the_host_can_do_is_asked_of_it() {
    let mut fixture = Fixture::new(Auth::Open);
    assert_eq!(fixture.answer("verbosity 2\r\n"), "OK\r\n");
    assert_eq!(fixture.answer("refresh_certs\r\n"), "ERROR\r\n");
    assert_eq!(fixture.answer("debugtime 5\r\n"), "ERROR\r\n");
    let (reply, status) = fixture.send("shutdown\r\n");
    assert_eq!((reply.as_str(), status), ("", Status::Close));
    assert_eq!(fixture.asked(), ["verbosity 2", "stop"]);
}

#[test]
fn an_upgrade_is_answered_with_what_the_host_grants() {
    let mut fixture = Fixture::new(Auth::Open);
    // base64 of "granted"
    let granted = "FABRIC Z3JhbnRlZA==\r\n";
    assert_eq!(fixture.answer("fabric 1 ucx memory\r\n"), granted);
    assert_eq!(fixture.answer("fabric 1 ucx\r\n"), "ERROR\r\n");
}
