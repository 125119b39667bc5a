//! The clients' programs: one for each language, which all speak the same few lines.

use super::report::{ClientCourse, Part, Seen};
use super::{LANGUAGES, Options, operations, rust};
use crate::fleet::PATIENCE;
use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::Pid;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What is wrong with a program that says something else.
fn unexpected(language: &str, line: &str) -> io::Error {
    io::Error::other(format!("the client in {language} said: {line:?}"))
}

/// All of them, running.
pub struct Clients {
    clients: Vec<Client>,
    start: Instant,
}

impl Clients {
    /// Starts all, and waits until each has stored its keys.
    ///
    /// # Errors
    /// If one cannot be started or breaks off.
    pub fn start(
        options: &Options,
        folder: &Path,
        endpoint: impl Fn(&str) -> SocketAddr,
    ) -> io::Result<Clients> {
        let mut clients = Vec::new();
        for (seed, language) in LANGUAGES.into_iter().enumerate() {
            let count = (options.rate as f64 * options.seconds) as u64;
            let path = folder.join(language);
            std::fs::write(&path, operations::draw(seed as u64, options.keys, count)?)?;
            let mut command = program(language, &options.clients)?;
            command.args([language, &endpoint(language).to_string()]);
            command.arg(path);
            let numbers = [options.keys as u64, options.value_bytes as u64];
            let numbers =
                numbers
                    .into_iter()
                    .chain([options.rate, options.part_ms, options.poll_ms]);
            command.args(numbers.map(|number| number.to_string()));
            clients.push(Client::start(language, command)?);
        }
        for client in &mut clients {
            while client.hear(Instant::now() + PATIENCE)? != "ready" {}
        }
        Ok(Clients {
            clients,
            start: Instant::now(),
        })
    }

    /// Has all begin; returns when.
    ///
    /// # Errors
    /// One has ended.
    pub fn go(&mut self) -> io::Result<Instant> {
        self.start = Instant::now();
        for client in &mut self.clients {
            let input = client.child.stdin.as_mut().expect("it was asked for");
            writeln!(input, "go")?;
        }
        Ok(self.start)
    }

    /// Whether each goes by so many servers.
    ///
    /// # Errors
    /// One has ended, or is done already.
    pub fn all_know(&mut self, servers: usize) -> io::Result<bool> {
        for client in &mut self.clients {
            client.look()?;
        }
        let knows = |client: &Client| client.seen.last().is_some_and(|one| one.servers == servers);
        Ok(self.clients.iter().all(knows))
    }

    /// What they have done, when all have ended, which work for so long.
    ///
    /// # Errors
    /// One breaks off.
    pub fn outcomes(mut self, course: Duration) -> io::Result<Vec<ClientCourse>> {
        let (start, until) = (self.start, self.start + course + PATIENCE);
        let outcome = |client: &mut Client| client.outcome(start, until);
        self.clients.iter_mut().map(outcome).collect()
    }
}

fn program(language: &str, folder: &Path) -> io::Result<Command> {
    if language == rust::NAME {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(rust::COMMAND);
        return Ok(command);
    }
    Ok(Command::new(folder.join(language)))
}

/// A client's process; killed when dropped.
struct Client {
    language: &'static str,
    child: Child,
    lines: Receiver<(Instant, String)>,
    seen: Vec<Told>,
    parts: Vec<Part>,
}

/// It went by so many servers from then on.
struct Told {
    at: Instant,
    servers: usize,
}

impl Drop for Client {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        spare_on_signals(Pid::from_child(&self.child));
    }
}

impl Client {
    fn start(language: &'static str, mut command: Command) -> io::Result<Client> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            let advice = "scripts/language-clients builds them";
            io::Error::new(error.kind(), format!("{program}: {error}; {advice}"))
        })?;
        kill_on_signals(Pid::from_child(&child));
        let output = child.stdout.take().expect("it was asked for");
        let (told, lines) = channel();
        std::thread::spawn(move || pass_on(output, &told));
        Ok(Client {
            language,
            child,
            lines,
            seen: Vec::new(),
            parts: Vec::new(),
        })
    }

    /// The next line, when it has come, if it does until then.
    fn hear(&mut self, until: Instant) -> io::Result<String> {
        let patience = until.saturating_duration_since(Instant::now());
        let line = self.lines.recv_timeout(patience);
        let (at, line) = line.map_err(|_| unexpected(self.language, "nothing"))?;
        self.take(at, &line)?;
        Ok(line)
    }

    /// Takes the lines that have come.
    fn look(&mut self) -> io::Result<()> {
        while let Ok((at, line)) = self.lines.try_recv() {
            self.take(at, &line)?;
            if line == "end" {
                return Err(unexpected(self.language, &line));
            }
        }
        match self.child.try_wait()? {
            Some(status) => Err(unexpected(self.language, &status.to_string())),
            None => Ok(()),
        }
    }

    fn take(&mut self, at: Instant, line: &str) -> io::Result<()> {
        let mut words = line.split(' ');
        let kind = words.next();
        let numbers = words.map(str::parse).collect::<Result<Vec<u64>, _>>();
        match (kind, numbers.as_deref()) {
            (Some("ready" | "end"), Ok([])) => {}
            (Some("servers"), Ok(&[servers])) => {
                let servers = servers as usize;
                self.seen.push(Told { at, servers });
            }
            (
                Some("part"),
                Ok(
                    &[
                        reads,
                        hits,
                        updates,
                        wrong,
                        stale,
                        failed,
                        ref latencies @ ..,
                    ],
                ),
            ) => {
                self.parts.push(Part {
                    reads,
                    hits,
                    updates,
                    wrong,
                    stale,
                    failed,
                    latencies_us: latencies.to_vec(),
                });
            }
            _ => return Err(unexpected(self.language, line)),
        }
        Ok(())
    }

    fn outcome(&mut self, start: Instant, until: Instant) -> io::Result<ClientCourse> {
        while self.hear(until)? != "end" {}
        let seen = self.seen.iter().map(|told| Seen {
            after_s: told.at.saturating_duration_since(start).as_secs_f64(),
            servers: told.servers,
        });
        Ok(ClientCourse {
            language: self.language,
            seen: seen.collect(),
            parts: std::mem::take(&mut self.parts),
        })
    }
}

/// Passes lines on with the time at which they came, until there are no more.
fn pass_on(output: ChildStdout, to: &Sender<(Instant, String)>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if to.send((Instant::now(), line)).is_err() {
            return;
        }
    }
}
