//! The load: clients that change items, and one thread that writes down how far they have come.

use crate::client::Client;
use crate::history::{CLIENTS, Change, History, KEYS};
use crate::mark::{Mark, Marks};
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How far a client may be ahead of what the last mark on the disk says. So what may have been sent
/// beyond a mark is known.
pub const AHEAD_MAX: u32 = 8;

/// Progress of all clients.
struct Progress {
    acknowledged: [u32; CLIENTS],
    marked: [u32; CLIENTS],
    /// The first error ends the load.
    error: Option<io::Error>,
    is_over: bool,
}

struct Shared {
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// Changes items until the limit. Every key is stored once before anything else happens.
///
/// # Errors
/// Every answer of the server that is not a success, and the system's.
pub fn run(address: &str, marks: &Path, history: History, limit: Duration) -> io::Result<String> {
    let marks = Marks::open(marks)?;
    let start = Mark::of_start(history, marks.read()?);
    marks.write(&start)?;
    let shared = Shared {
        progress: Mutex::new(Progress {
            acknowledged: [0; CLIENTS],
            marked: [0; CLIENTS],
            error: None,
            is_over: false,
        }),
        changed: Condvar::new(),
    };
    let outcome = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let shared = &shared;
            scope.spawn(move || {
                if let Err(error) = shared.run_client(address, &history, client) {
                    shared.end(Some(error));
                }
            });
        }
        let outcome = shared.write_marks(&marks, start, Instant::now() + limit);
        shared.end(None);
        outcome
    });
    let progress = shared.progress.into_inner().expect("no holder panics");
    outcome?;
    match progress.error {
        Some(error) => Err(error),
        None => {
            let sum: u32 = progress.acknowledged.iter().sum();
            Ok(format!("acknowledged {sum} operations"))
        }
    }
}

impl Shared {
    fn end(&self, error: Option<io::Error>) {
        let mut progress = self.progress.lock().expect("no holder panics");
        progress.is_over = true;
        if progress.error.is_none() {
            progress.error = error;
        }
        self.changed.notify_all();
    }

    fn run_client(&self, address: &str, history: &History, client: usize) -> io::Result<()> {
        let mut connection = Client::connect(address)?;
        for index in 0.. {
            if !self.may_begin(client, index) {
                break;
            }
            let operation = history.operation(client, index);
            let key = History::key_name(client, operation.key);
            match operation.change {
                Change::Set(bytes) => {
                    connection.set(&key, &history.value(client, index, bytes))?;
                }
                Change::Delete => connection.delete(&key)?,
            }
            self.acknowledge(client, index + 1);
        }
        Ok(())
    }

    /// Waits until the marks have caught up; whether the load goes on.
    fn may_begin(&self, client: usize, index: u32) -> bool {
        let progress = self.progress.lock().expect("no holder panics");
        let waits = |progress: &mut Progress| {
            !progress.is_over && index >= progress.marked[client] + AHEAD_MAX
        };
        let progress = self.changed.wait_while(progress, waits);
        !progress.expect("no holder panics").is_over
    }

    fn acknowledge(&self, client: usize, count: u32) {
        let mut progress = self.progress.lock().expect("no holder panics");
        progress.acknowledged[client] = count;
        self.changed.notify_all();
    }

    /// Waits for news, writes them down, and lets the clients go on.
    fn write_marks(&self, marks: &Marks, mut mark: Mark, deadline: Instant) -> io::Result<()> {
        let mut has_told = false;
        while Instant::now() < deadline {
            let progress = self.progress.lock().expect("no holder panics");
            let is_silent = |progress: &mut Progress| {
                !progress.is_over && progress.acknowledged == mark.now.counts
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = self.changed.wait_timeout_while(progress, left, is_silent);
            let (progress, timeout) = waited.expect("no holder panics");
            if progress.is_over || timeout.timed_out() {
                break;
            }
            mark.now.counts = progress.acknowledged;
            drop(progress);
            marks.write(&mark)?;
            if !has_told && mark.now.counts.iter().all(|&count| count >= KEYS) {
                // The host waits for it.
                println!("marked");
                has_told = true;
            }
            let mut progress = self.progress.lock().expect("no holder panics");
            progress.marked = mark.now.counts;
            self.changed.notify_all();
        }
        Ok(())
    }
}
