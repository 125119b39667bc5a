//! The process that asks and measures.

use super::arena::{Arena, forever};
use super::message::{Header, REPLY, REQUEST, values_of};
use super::raw::{Outlet, partner_address};
use super::scenario::Scenario;
use super::server::SERVE_ARGUMENT;
use super::{open_worker, partner};
use crate::load::measurement::{LatencyUs, latency_histogram};
use farcache_bare_ucx::{Body, Worker};
use farcache_client::zeroed_memory;
use farcache_harness::pinning::pinned;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Share of each measurement that warms up.
const WARMUP_SHARE: f64 = 0.2;
/// Fewest requests of a measurement, and of its warm-up.
const REQUESTS_MIN: u64 = 3;
/// Replies between two looks at the clock where many are outstanding.
const REPLIES_PER_LOOK: u64 = 256;
/// How long no reply may come before the measurement gives up.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct LimitsPlan {
    /// Program that serves when started with [`SERVE_ARGUMENT`].
    pub program: PathBuf,
    /// Core of the server, if pinned.
    pub server_cpu: Option<usize>,
    /// UCX's networks (`UCX_TLS`); none: UCX's choice, or the environment's.
    pub networks: Option<String>,
    /// Length of each measurement.
    pub duration: Duration,
    /// Whether the client receives each large body into memory that is made anew.
    pub new_buffers: bool,
    /// What to measure.
    pub scenarios: Vec<Scenario>,
}

/// The result of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// For people.
    pub title: String,
    /// What was measured.
    pub scenario: Scenario,
    /// From sending to the reply in the buffer; only where one message was outstanding.
    pub latency_us: Option<LatencyUs>,
    /// Messages answered a second.
    pub messages_per_s: f64,
    /// Keys answered a second.
    pub keys_per_s: f64,
    /// Bytes of values moved a second.
    pub value_bytes_per_s: f64,
}

/// The results, and over which networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// UCX's version.
    pub ucx: String,
    /// The networks in use, as UCX describes them.
    pub lanes: Vec<String>,
    /// One for each scenario.
    pub figures: Vec<Figures>,
}

/// Starts the server and measures each scenario; the calling thread, which is the client, is pinned
/// already if it is to be.
///
/// # Errors
/// Where there is no UCX, the server cannot be started, or stops to answer.
pub fn measure(plan: &LimitsPlan) -> io::Result<Limits> {
    let mut client = Client::start(plan)?;
    let mut figures = Vec::new();
    for scenario in &plan.scenarios {
        figures.push(client.measure(*scenario, plan.duration)?);
    }
    Ok(Limits {
        ucx: client.version.clone(),
        lanes: client.outlet.lanes()?,
        figures,
    })
}

/// What the handler of replies works on.
#[derive(Default)]
struct Replies {
    count: Cell<u64>,
    bytes_last: Cell<usize>,
    buffer: RefCell<Vec<u8>>,
    new_buffers: bool,
    failure: RefCell<Option<io::Error>>,
}

impl Replies {
    fn take(self: Rc<Self>, body: Body<'_>) {
        match body {
            Body::Eager(bytes) => {
                let mut buffer = self.buffer.borrow_mut();
                grow(&mut buffer, bytes.len());
                buffer[..bytes.len()].copy_from_slice(bytes);
                self.arrived(bytes.len());
            }
            Body::Rendezvous(offer) => {
                let mut buffer = self.buffer.take();
                if self.new_buffers {
                    buffer = Vec::new();
                }
                grow(&mut buffer, offer.bytes());
                offer.receive(buffer, move |received| match received {
                    Ok(buffer) => {
                        self.arrived(buffer.len());
                        *self.buffer.borrow_mut() = buffer;
                    }
                    Err(error) => *self.failure.borrow_mut() = Some(io::Error::other(error)),
                });
            }
        }
    }

    fn arrived(&self, bytes: usize) {
        self.bytes_last.set(bytes);
        self.count.set(self.count.get() + 1);
    }
}

/// Makes the buffer so long at least, in huge pages as the fabric's client does; what stood there
/// is lost.
fn grow(buffer: &mut Vec<u8>, bytes: usize) {
    if buffer.len() < bytes {
        *buffer = zeroed_memory(bytes);
    }
}

/// The server's process, killed when dropped.
struct Partner(Child);

impl Drop for Partner {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Client {
    worker: Worker,
    outlet: Outlet,
    replies: Rc<Replies>,
    arena: Arena,
    version: String,
    _pipe: ChildStdin,
    _partner: Partner,
}

impl Client {
    fn start(plan: &LimitsPlan) -> io::Result<Self> {
        let (worker, library) = open_worker(plan.networks.as_deref())?;
        let replies = Rc::new(Replies {
            new_buffers: plan.new_buffers,
            ..Replies::default()
        });
        worker
            .on_message(REPLY, {
                let replies = replies.clone();
                move |_, body| replies.clone().take(body)
            })
            .map_err(io::Error::other)?;
        let mut partner = Partner(start_server(plan)?);
        let (pipe_in, pipe_out) = (partner.0.stdin.take(), partner.0.stdout.take());
        let (mut pipe_in, pipe_out) = pipe_in.zip(pipe_out).expect("both were asked for");
        let theirs = partner_address(partner::hear(BufReader::new(pipe_out))?);
        let own = worker.address().map_err(io::Error::other)?;
        partner::tell(&mut pipe_in, own.as_bytes())?;
        let endpoint = worker.connect(&theirs).map_err(io::Error::other)?;
        let (major, minor, release) = library.version();
        Ok(Client {
            worker,
            outlet: Outlet::new(endpoint, library),
            replies,
            arena: Arena::default(),
            version: format!("{major}.{minor}.{release}"),
            _pipe: pipe_in,
            _partner: partner,
        })
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> io::Result<Figures> {
        let mut run = Run::new(self, scenario);
        run.keep_going(duration.mul_f64(WARMUP_SHARE), &mut |_| {})?;
        let mut latencies_ns = latency_histogram();
        let before = self.replies.count.get();
        let mut record = |latency: Duration| {
            latencies_ns.saturating_record(latency.as_nanos() as u64);
        };
        let elapsed = Run::new(self, scenario).keep_going(duration, &mut record)?;
        let messages = (self.replies.count.get() - before) as f64;
        let messages_per_s = messages / elapsed.as_secs_f64();
        let keys_per_s = messages_per_s * scenario.keys_per_message as f64;
        Ok(Figures {
            title: scenario.title(),
            scenario,
            latency_us: (scenario.window == 1).then(|| LatencyUs::of(&latencies_ns)),
            messages_per_s,
            keys_per_s,
            value_bytes_per_s: keys_per_s * scenario.value_bytes as f64,
        })
    }
}

/// One scenario under way.
struct Run<'a> {
    client: &'a Client,
    scenario: Scenario,
    header: &'static [u8],
    values: usize,
}

impl<'a> Run<'a> {
    fn new(client: &'a Client, scenario: Scenario) -> Self {
        let message_bytes = scenario.request_bytes().max(scenario.reply_bytes());
        let values = values_of(message_bytes);
        let header = Header {
            reply_bytes: scenario.reply_bytes() as u32,
            values: values as u32,
        };
        Run {
            client,
            scenario,
            header: forever(header.encode()),
            values,
        }
    }

    /// Asks for this long, and waits for what is outstanding; says how long it took.
    fn keep_going(
        &mut self,
        duration: Duration,
        record: &mut dyn FnMut(Duration),
    ) -> io::Result<Duration> {
        let start = Instant::now();
        match self.scenario.window {
            1 => self.one_at_a_time(start, duration, record)?,
            window => self.many(start, duration, window as u64)?,
        }
        if self.client.replies.bytes_last.get() != self.scenario.reply_bytes() {
            return Err(io::Error::other("a reply of another length"));
        }
        Ok(start.elapsed())
    }

    fn one_at_a_time(
        &self,
        start: Instant,
        duration: Duration,
        record: &mut dyn FnMut(Duration),
    ) -> io::Result<()> {
        let (mut requests, mut sent_at) = (0, start);
        while requests < REQUESTS_MIN || sent_at - start < duration {
            self.send()?;
            requests += 1;
            self.wait_for(self.client.replies.count.get() + 1)?;
            let now = Instant::now();
            record(now - sent_at);
            sent_at = now;
        }
        Ok(())
    }

    fn many(&self, start: Instant, duration: Duration, window: u64) -> io::Result<()> {
        let count = &self.client.replies.count;
        let (mut sent, mut next_look) = (count.get(), 0);
        loop {
            while sent - count.get() < window {
                self.send()?;
                sent += 1;
            }
            self.wait_for(sent + 1 - window)?;
            if count.get() > next_look {
                next_look = count.get() + REPLIES_PER_LOOK;
                if start.elapsed() > duration {
                    return self.wait_for(sent);
                }
            }
        }
    }

    fn send(&self) -> io::Result<()> {
        let body = self
            .client
            .arena
            .next(self.scenario.request_bytes(), self.values);
        self.client.outlet.send(REQUEST, self.header, body)
    }

    /// Goes on until so many replies have come in all.
    fn wait_for(&self, count: u64) -> io::Result<()> {
        /// Turns without news between two looks at the clock.
        const TURNS_PER_LOOK: u32 = 1 << 20;
        let (mut turns, mut since) = (0u32, None);
        while self.client.replies.count.get() < count {
            self.client.worker.progress();
            turns += 1;
            if turns.is_multiple_of(TURNS_PER_LOOK) {
                let since = *since.get_or_insert_with(Instant::now);
                self.check(since)?;
            }
        }
        Ok(())
    }

    fn check(&self, since: Instant) -> io::Result<()> {
        if let Some(error) = self.client.replies.failure.take() {
            return Err(error);
        }
        if since.elapsed() > SILENCE_MAX {
            return Err(io::Error::other("the server does not answer any more"));
        }
        Ok(())
    }
}

fn start_server(plan: &LimitsPlan) -> io::Result<Child> {
    let mut command = Command::new(&plan.program);
    command
        .arg(SERVE_ARGUMENT)
        .args(&plan.networks)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    pinned(plan.server_cpu, || command.spawn())?.map_err(|error| {
        io::Error::new(error.kind(), format!("{}: {error}", plan.program.display()))
    })
}
