//! Client processes that hold connections, that are killed, or whose server is killed.
//!
//! A helper is this same program, started anew with [`HELPER_ARGUMENT`], the name of its part, the
//! servers, the transport and a number. It prints a line when it is ready.

use super::Network;
use super::programs::TRANSPORT_VARIABLE;
use crate::ohb::items::Items;
use crate::ohb::session::Session;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Argument that makes a program be a helper.
pub const HELPER_ARGUMENT: &str = "shows-helper";

/// Size of the values that victims and orphans move, in bytes: well above what goes eagerly.
const LARGE_BYTES: usize = 1 << 20;
/// Their number.
const LARGE_KEYS: usize = 8;
/// Operations that they have under way.
const WINDOW: u64 = 8;

/// What a helper does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Connects so many times and stays until told to leave.
    Hold,
    /// Moves large values until it is killed.
    Victim,
    /// Moves large values until its server is gone, and tells when its last operation ended.
    Orphan,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Hold => "hold",
            Part::Victim => "victim",
            Part::Orphan => "orphan",
        }
    }

    fn named(name: &str) -> Option<Part> {
        [Part::Hold, Part::Victim, Part::Orphan]
            .into_iter()
            .find(|part| part.name() == name)
    }
}

/// What a helper that holds connections tells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connected {
    /// Seconds for all connections, one after the other, each with one answer.
    pub seconds: f64,
}

/// Most workers of a server that is looked at.
const WORKERS_MAX: usize = 16;

/// What an orphan tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orphaned {
    /// When its last operation ended, on the system's monotonic clock, in nanoseconds.
    pub ended_ns: u64,
    /// Operations that ended with an error.
    pub failed: u64,
}

/// The system's monotonic clock, the same in all processes, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A running helper; killed when dropped.
pub struct Helper {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts one.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        part: Part,
        network: Network,
        transport: &str,
        server: SocketAddr,
        number: usize,
    ) -> io::Result<Helper> {
        let mut child = Command::new(std::env::current_exe()?)
            .env_remove(TRANSPORT_VARIABLE)
            .envs(network.environment().iter().copied())
            .args([HELPER_ARGUMENT, part.name(), &server.to_string(), transport])
            .arg(number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.expect("both were asked for");
        Ok(Helper {
            child,
            input: Some(input),
            output: BufReader::new(output),
        })
    }

    /// Has two come and leave in good order, one after the other, each with a session at every
    /// worker. What the server's network opens for the first sessions of a worker, and at their end,
    /// is open when the second have been served, and stays.
    ///
    /// # Errors
    /// If they cannot be started or served.
    pub fn come_and_go(network: Network, server: SocketAddr) -> io::Result<()> {
        for _ in 0..2 {
            let mut client = Helper::start(Part::Hold, network, "fabric", server, WORKERS_MAX)?;
            client.hear()?;
            client.leave()?;
        }
        Ok(())
    }

    /// Waits for its next line.
    ///
    /// # Errors
    /// If it has ended instead; why stands on standard error.
    pub fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(io::Error::other("a client process has failed")),
            _ => Ok(line),
        }
    }

    /// Tells it to leave in good order, and waits until it has.
    ///
    /// # Errors
    /// If it fails.
    pub fn leave(mut self) -> io::Result<()> {
        drop(self.input.take());
        match self.child.wait()?.success() {
            true => Ok(()),
            false => Err(io::Error::other("a client process has failed")),
        }
    }

    /// Stops it from running, without its knowing.
    ///
    /// # Errors
    /// If it has ended by itself.
    pub fn pause(&self) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::STOP)?)
    }

    /// Kills it.
    ///
    /// # Errors
    /// If it has ended by itself.
    pub fn kill(mut self) -> io::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            return Err(io::Error::other(format!(
                "a client ended before it was killed: {status}"
            )));
        }
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A helper's side, with the arguments behind [`HELPER_ARGUMENT`]; `open` connects to servers by a
/// transport.
///
/// # Errors
/// Those of the connections, and arguments of another form.
pub fn be_helper<S: Session>(
    arguments: &[String],
    open: impl Fn(&str, &str) -> io::Result<S>,
) -> io::Result<()> {
    let wrong = || io::Error::other("PART SERVERS TRANSPORT NUMBER");
    let [part, servers, transport, number] = arguments else {
        return Err(wrong());
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    match Part::named(part).ok_or_else(wrong)? {
        Part::Hold => hold(number, || open(servers, transport)),
        Part::Victim => Stream::new(open(servers, transport)?, number as u64)?.until_it_fails(),
        Part::Orphan => {
            let mut stream = Stream::new(open(servers, transport)?, number as u64)?;
            // It ends with the server, which is what is wanted.
            let error = stream.until_it_fails();
            let failed = stream.finish_rest() + u64::from(error.is_err());
            let told = Orphaned {
                ended_ns: monotonic_ns(),
                failed,
            };
            println!("{}", serde_json::to_string(&told)?);
            Ok(())
        }
    }
}

fn hold<S: Session>(count: usize, open: impl Fn() -> io::Result<S>) -> io::Result<()> {
    let item = Items::new(64, 16, Some(1), true);
    let start = Instant::now();
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let mut session = open()?;
        item.store(&mut session)?;
        sessions.push(session);
    }
    let told = Connected {
        seconds: start.elapsed().as_secs_f64(),
    };
    println!("{}", serde_json::to_string(&told)?);
    io::stdin().lock().read_line(&mut String::new())?;
    drop(sessions);
    Ok(())
}

/// Large values, stored and fetched in turn, several under way.
struct Stream<S> {
    session: S,
    items: Items,
    next: u64,
    under_way: u64,
}

impl<S: Session> Stream<S> {
    fn new(mut session: S, first: u64) -> io::Result<Self> {
        let items = Items::new(LARGE_BYTES, 16, Some(LARGE_KEYS), true);
        items.store(&mut session)?;
        Ok(Stream {
            session,
            items,
            next: first,
            under_way: 0,
        })
    }

    /// Goes on until an operation fails; prints a line once the first has been answered.
    fn until_it_fails(&mut self) -> io::Result<()> {
        let mut is_told = false;
        loop {
            while self.under_way < WINDOW {
                let stores = self.next.is_multiple_of(2);
                self.items.begin(&mut self.session, self.next, stores)?;
                self.session.flush()?;
                self.next += 1;
                self.under_way += 1;
            }
            self.under_way -= 1;
            self.finish_one()?;
            if !is_told {
                is_told = true;
                println!("ready");
            }
        }
    }

    /// Waits for the first. A server short of memory may have evicted a value: that is an answer,
    /// too.
    fn finish_one(&mut self) -> io::Result<()> {
        match self.session.finish(&mut |_| ()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            finished => finished,
        }
    }

    /// Waits for all that is under way; says how many failed.
    fn finish_rest(&mut self) -> u64 {
        let rest = std::mem::take(&mut self.under_way);
        let failed = (0..rest).filter(|_| self.session.finish(&mut |_| ()).is_err());
        failed.count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ohb::session::fake::FakeSession;

    #[test]
    fn parts_are_named() {
        for part in [Part::Hold, Part::Victim, Part::Orphan] {
            assert_eq!(Part::named(part.name()), Some(part));
        }
        assert_eq!(Part::named("x"), None);
    }

    #[test]
    fn a_stream_ends_with_its_server_and_leaves_nothing_under_way() {
        let mut stream = Stream::new(FakeSession::default(), 0).unwrap();
        stream.session.is_gone = true;
        assert!(stream.until_it_fails().is_err());
        assert_eq!(stream.finish_rest(), 0);
        assert_eq!(stream.under_way, 0);
    }

    #[test]
    fn a_value_that_was_evicted_is_an_answer() {
        let mut stream = Stream::new(FakeSession::default(), 0).unwrap();
        stream.session.values.clear();
        let begun = stream.items.begin(&mut stream.session, 0, false);
        begun.unwrap();
        stream.finish_one().unwrap();
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let arguments = ["hold", "a:1", "tcp"].map(String::from);
        let open = |_: &str, _: &str| Ok(FakeSession::default());
        assert!(be_helper(&arguments, open).is_err());
        let arguments = ["x", "a:1", "tcp", "1"].map(String::from);
        assert!(be_helper(&arguments, open).is_err());
    }
}
