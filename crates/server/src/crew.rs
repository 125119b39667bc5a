//! Who runs a server's workers: a thread each, or one thread for the workers of several servers.
//!
//! A thread each is what servers have. Several servers of one process that share a thread show what
//! values on several servers cost beside the time in which the kernel changes from one server to
//! the next: that is most of it where they share a processor only, and none of it where each has
//! a machine.

use crate::admission::Admission;
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use crate::worker::Worker;
use socket2::Socket;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// What a worker is made of, on the thread that runs it.
pub struct Post {
    /// Its server.
    pub shared: Arc<Shared>,
    /// Its number among the server's workers.
    pub index: usize,
    /// Where other threads write to it.
    pub mailbox: Arc<Mailbox>,
    /// Who may connect.
    pub admission: Arc<Admission>,
    /// Sockets for UDP, which all workers share.
    pub datagram_sockets: Vec<Arc<Socket>>,
}

impl Post {
    fn worker(self) -> io::Result<Worker> {
        Worker::new(
            self.shared,
            self.index,
            self.mailbox,
            self.admission,
            self.datagram_sockets,
        )
    }
}

/// Runs workers.
pub trait Crew: Sync {
    /// Has a worker run; returns once it serves.
    ///
    /// # Errors
    /// When descriptors or threads are exhausted.
    fn employ(&self, post: Post) -> io::Result<Ended>;
}

/// Tells of a worker's end.
pub struct Ended(Receiver<io::Result<()>>);

impl Ended {
    /// Waits for it.
    ///
    /// # Errors
    /// The worker has failed.
    pub fn wait(self) -> io::Result<()> {
        self.hear("a worker has failed")
    }

    /// Waits until the worker serves.
    fn once_started(self) -> io::Result<Ended> {
        self.hear("a worker failed to start")?;
        Ok(self)
    }

    fn hear(&self, failure: &'static str) -> io::Result<()> {
        let told = self.0.recv();
        told.map_err(|_| io::Error::other(failure))?
    }
}

/// What a worker's thread tells: first that it serves, or why not, then that it has ended.
struct Report(Sender<io::Result<()>>);

fn report() -> (Report, Ended) {
    let (report, ended) = channel();
    (Report(report), Ended(ended))
}

impl Report {
    /// The worker, if it could be made; the other end hears of it in both cases.
    fn take_up(&self, post: Post) -> Option<Worker> {
        let (worker, told) = match post.worker() {
            Ok(worker) => (Some(worker), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // Whoever does not want to hear of it has given up the server.
        let _ = self.0.send(told);
        worker
    }

    /// The worker has ended and is gone.
    fn end(self) {
        let _ = self.0.send(Ok(()));
    }
}

/// Gives each worker a thread.
#[derive(Clone, Copy, Debug)]
pub struct Threads;

impl Crew for Threads {
    fn employ(&self, post: Post) -> io::Result<Ended> {
        let (report, ended) = report();
        std::thread::Builder::new()
            .name(format!("worker-{}", post.index))
            .spawn(move || {
                if let Some(worker) = report.take_up(post) {
                    worker.run();
                }
                report.end();
            })?;
        ended.once_started()
    }
}

/// Gives all workers to the thread that calls [`Turns::take`].
#[derive(Clone)]
pub struct OneThread(Sender<(Post, Report)>);

/// The turns of workers that share a thread.
pub struct Turns(Receiver<(Post, Report)>);

/// Workers that will share a thread: the crew for their servers, and their turns.
pub fn one_thread() -> (OneThread, Turns) {
    let (posts, arrivals) = channel();
    (OneThread(posts), Turns(arrivals))
}

impl Crew for OneThread {
    fn employ(&self, post: Post) -> io::Result<Ended> {
        let (report, ended) = report();
        let gone = |_| io::Error::other("the thread of all workers has ended");
        self.0.send((post, report)).map_err(gone)?;
        ended.once_started()
    }
}

impl Turns {
    /// Runs the workers in turns on the calling thread, which never sleeps, until all have ended
    /// and no server is left that may employ more.
    pub fn take(self) {
        let mut workers: Vec<(Worker, Report)> = Vec::new();
        loop {
            match self.0.try_recv() {
                Ok((post, report)) => workers.extend(taken_up(post, report)),
                Err(TryRecvError::Disconnected) if workers.is_empty() => return,
                Err(_) => {}
            }
            workers.iter_mut().for_each(|(worker, _)| worker.turn());
            let ended = workers.extract_if(.., |(worker, _)| !worker.is_wanted());
            ended.for_each(|(worker, report)| {
                worker.end();
                report.end();
            });
        }
    }
}

fn taken_up(post: Post, report: Report) -> Option<(Worker, Report)> {
    let mut worker = report.take_up(post)?;
    worker.share_thread();
    Some((worker, report))
}
