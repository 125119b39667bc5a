//! Clients that read, store and delete keys by a zipf law, each its own, and know what they must
//! find: what they stored last, or nothing.

use crate::fleet::Fleet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Keys of each client.
const KEYS: usize = 4_000;
const CLIENTS: u64 = 3;
/// The law's exponent, as YCSB has it.
const SKEW: f64 = 0.99;

/// What has happened so far.
#[derive(Default)]
pub struct Counts {
    pub reads: AtomicU64,
    /// Reads that found nothing of what was stored last.
    pub misses: AtomicU64,
    /// Reads that found something else than what was stored last.
    pub stale: AtomicU64,
    pub errors: AtomicU64,
    is_over: AtomicBool,
}

impl Counts {
    fn read(&self) -> [u64; 4] {
        [&self.reads, &self.misses, &self.stale, &self.errors].map(|it| it.load(SeqCst))
    }

    /// Reads, misses, stale reads and errors while so many more reads are made.
    pub fn during_reads(&self, reads: u64) -> [u64; 4] {
        let before = self.read();
        while self.reads.load(SeqCst) < before[0] + reads {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.since(before)
    }

    pub fn now(&self) -> [u64; 4] {
        self.read()
    }

    pub fn since(&self, before: [u64; 4]) -> [u64; 4] {
        let now = self.read();
        std::array::from_fn(|index| now[index] - before[index])
    }
}

/// Clients at work.
pub struct Load {
    pub counts: Arc<Counts>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins with each key stored once.
    pub fn start(fleet: &Fleet, servers: &[u32]) -> Load {
        let counts = Arc::new(Counts::default());
        let threads = (0..CLIENTS).map(|number| {
            let sockets: Vec<PathBuf> = servers.iter().map(|id| fleet.socket(*id)).collect();
            let mut user = User::new(number, sockets, Arc::clone(&counts));
            user.store_all();
            std::thread::spawn(move || user.run())
        });
        Load {
            threads: threads.collect(),
            counts,
        }
    }

    pub fn stop(self) -> [u64; 4] {
        self.counts.is_over.store(true, SeqCst);
        for thread in self.threads {
            thread.join().expect("the client found nothing wrong");
        }
        self.counts.read()
    }
}

/// One client.
struct User {
    number: u64,
    sockets: Vec<PathBuf>,
    clients: Vec<Option<BufReader<UnixStream>>>,
    counts: Arc<Counts>,
    /// What may be found, besides nothing: one value where the last change was answered.
    may_be: Vec<Vec<u64>>,
    is_stored: Vec<bool>,
    version: u64,
    law: Vec<f64>,
    seed: u64,
}

impl User {
    fn new(number: u64, sockets: Vec<PathBuf>, counts: Arc<Counts>) -> User {
        let mut sum = 0.0;
        let law = (1..=KEYS).map(|rank| {
            sum += 1.0 / (rank as f64).powf(SKEW);
            sum
        });
        User {
            number,
            clients: sockets.iter().map(|_| None).collect(),
            sockets,
            counts,
            may_be: vec![Vec::new(); KEYS],
            is_stored: vec![false; KEYS],
            version: 0,
            law: law.collect(),
            seed: 0x9e37_79b9_7f4a_7c15 ^ number,
        }
    }

    fn random(&mut self) -> u64 {
        // Source: G. Marsaglia, "Xorshift RNGs".
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn key(&self, index: usize) -> String {
        format!("user{}:{index}", self.number)
    }

    fn store_all(&mut self) {
        (0..KEYS).for_each(|index| self.store(index));
    }

    fn run(mut self) {
        let total = *self.law.last().expect("keys");
        while !self.counts.is_over.load(SeqCst) {
            let at = (self.random() >> 11) as f64 / (1u64 << 53) as f64 * total;
            let index = self.law.partition_point(|sum| *sum < at).min(KEYS - 1);
            match self.random() % 10 {
                0 => self.delete(index),
                _ => self.read(index),
            }
        }
    }

    /// Asks any server; none where it does not answer as it should.
    fn ask(&mut self, request: &str) -> Option<Vec<String>> {
        let place = self.random() as usize % self.sockets.len();
        if self.clients[place].is_none() {
            let stream = UnixStream::connect(&self.sockets[place]).ok();
            let stream =
                stream.filter(|it| it.set_read_timeout(Some(Duration::from_secs(90))).is_ok());
            self.clients[place] = stream.map(BufReader::new);
        }
        let told = self.clients[place].as_mut().and_then(|client| {
            client.get_mut().write_all(request.as_bytes()).ok()?;
            let mut lines = vec![line(client)?];
            if lines[0].starts_with("VALUE") {
                lines.extend([line(client)?, line(client)?]);
            }
            Some(lines)
        });
        let is_error = told.as_ref().is_none_or(|lines| lines[0].contains("ERROR"));
        if is_error {
            self.counts.errors.fetch_add(1, SeqCst);
            if told.is_none() {
                self.clients[place] = None;
            }
            return None;
        }
        told
    }

    fn store(&mut self, index: usize) {
        self.version += 1;
        let (key, value) = (self.key(index), self.version.to_string());
        let request = format!("set {key} 0 0 {}\r\n{value}\r\n", value.len());
        match self.ask(&request) {
            Some(lines) => {
                assert_eq!(lines[0], "STORED");
                self.may_be[index] = vec![self.version];
                self.is_stored[index] = true;
            }
            None => {
                // It may have been stored, or not.
                self.may_be[index].push(self.version);
                self.is_stored[index] = false;
            }
        }
    }

    fn delete(&mut self, index: usize) {
        let request = format!("delete {}\r\n", self.key(index));
        self.is_stored[index] = false;
        if self.ask(&request).is_some() {
            self.may_be[index].clear();
        }
    }

    fn read(&mut self, index: usize) {
        let key = self.key(index);
        let Some(lines) = self.ask(&format!("get {key}\r\n")) else {
            return;
        };
        self.counts.reads.fetch_add(1, SeqCst);
        if lines[0] == "END" {
            let is_lost = self.is_stored[index];
            self.counts.misses.fetch_add(u64::from(is_lost), SeqCst);
            return self.store(index);
        }
        let found: u64 = lines[1].parse().expect("a version");
        if !self.may_be[index].contains(&found) {
            self.counts.stale.fetch_add(1, SeqCst);
            eprintln!("{key}: found {found}, not {:?}", self.may_be[index]);
        }
    }
}

/// The next line; none where the server is gone.
fn line(client: &mut BufReader<UnixStream>) -> Option<String> {
    let mut line = String::new();
    let bytes = client.read_line(&mut line).ok()?;
    (bytes > 0).then(|| line.trim_end().to_owned())
}

/// Waits for something while the clients go on.
pub fn wait_long<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        let waited = started.elapsed();
        assert!(
            waited < Duration::from_secs(120),
            "waited too long for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
