//! Client processes, and what they tell.

use crate::Outcome;
use crate::hosts::{Host, Hosts};
use crate::scenario::Scenario;
use crate::ways::Network;
use crate::workload::{LAST_READ_MS_MAX, THREADS_MAX, Task};
use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a client may take to end what it has begun.
const END_MAX: Duration = Duration::from_secs(180);

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The client processes of a run. Each place has one after the other.
pub struct Clients {
    program: PathBuf,
    network: Network,
    task: Task,
    places: Vec<Place>,
    /// What those told that have ended.
    told: Vec<String>,
    started: u32,
    /// The callers of the last reads.
    readers: Vec<u32>,
}

struct Place {
    host: Host,
    process: Option<Process>,
    is_stopped: bool,
}

struct Process {
    child: Child,
    reader: JoinHandle<Vec<String>>,
}

impl Clients {
    /// Starts as many as the scenario has.
    ///
    /// # Errors
    /// One cannot be started.
    pub fn start(hosts: &Hosts, scenario: &Scenario, servers: &str) -> Outcome<Clients> {
        let settings = &scenario.settings;
        let places = (0..settings.clients).map(|at| Place {
            host: scenario.servers + at,
            process: None,
            is_stopped: false,
        });
        let mut clients = Clients {
            program: std::env::current_exe()?,
            network: scenario.network,
            task: Task {
                servers: servers.to_owned(),
                redundancy: scenario.clients_policy.clone(),
                transport: scenario.network.transport().to_owned(),
                number: 0,
                seed: scenario.seed,
                threads: settings.threads,
                pause_us_max: settings.pause.as_micros() as u64,
                timeout_ms: 1_500,
                keys: settings.keys.clone(),
                only_reads: false,
            },
            places: places.collect(),
            told: Vec::new(),
            started: 0,
            readers: Vec::new(),
        };
        for place in 0..clients.places.len() {
            clients.start_one(hosts, place)?;
        }
        Ok(clients)
    }

    fn start_one(&mut self, hosts: &Hosts, place: usize) -> Outcome<()> {
        let process = self.spawn(hosts, self.places[place].host, false)?;
        self.places[place].process = Some(process);
        self.places[place].is_stopped = false;
        Ok(())
    }

    fn spawn(&mut self, hosts: &Hosts, host: Host, only_reads: bool) -> Outcome<Process> {
        self.started += 1;
        let mut task = self.task.clone();
        (task.number, task.only_reads) = (self.started, only_reads);
        if only_reads {
            task.timeout_ms = LAST_READ_MS_MAX;
        } else {
            task.servers = self.servers_of(host);
        }
        let mut command = hosts.command(host, &self.program);
        command.args(task.arguments());
        command.envs(self.network.environment().iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        kill_on_signals(Pid::from_child(&child));
        let out = child.stdout.take().ok_or("no output")?;
        let reader = std::thread::spawn(move || lines(out));
        Ok(Process { child, reader })
    }

    /// The servers that a client is told of: different ones, as the map is what counts, and servers
    /// pass on what comes to the wrong one. Half of them at least, so that one can be asked.
    fn servers_of(&self, host: Host) -> String {
        let mut servers: Vec<&str> = self.task.servers.split(',').collect();
        let left = servers.len() - host % (servers.len() / 2 + 1);
        servers.truncate(left);
        servers.join(",")
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Where one lives.
    #[must_use]
    pub fn host(&self, place: usize) -> Host {
        self.places[place].host
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self, place: usize) -> bool {
        self.places[place].is_stopped
    }

    /// Ends one as nothing else can, and starts another one in its place.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn replace(&mut self, hosts: &Hosts, place: usize) -> Outcome<()> {
        if let Some(mut process) = self.places[place].process.take() {
            process.child.kill()?;
            self.told.extend(process.end()?.1);
        }
        self.start_one(hosts, place)
    }

    /// Stops one without ending it.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn stop(&mut self, place: usize) -> Outcome<()> {
        self.places[place].is_stopped = true;
        self.signal(place, Signal::STOP)
    }

    /// Lets one go on that was stopped.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn go_on(&mut self, place: usize) -> Outcome<()> {
        self.places[place].is_stopped = false;
        self.signal(place, Signal::CONT)
    }

    fn signal(&self, place: usize, signal: Signal) -> Outcome<()> {
        match &self.places[place].process {
            Some(process) => Ok(kill_process(Pid::from_child(&process.child), signal)?),
            None => Ok(()),
        }
    }

    /// Lets all end what they have begun.
    ///
    /// # Errors
    /// One does not end, or with an error.
    pub fn end(&mut self) -> Outcome<()> {
        let ending: Vec<Process> = self
            .places
            .iter_mut()
            .filter_map(|place| place.process.take())
            .collect();
        for mut process in ending {
            // It ends when this does.
            drop(process.child.stdin.take());
            self.take(process)?;
        }
        Ok(())
    }

    /// Has a client of its own read each key.
    ///
    /// # Errors
    /// It does not end, or with an error.
    pub fn read_all(&mut self, hosts: &Hosts) -> Outcome<()> {
        let host = self.places.first().map_or(0, |place| place.host);
        let process = self.spawn(hosts, host, true)?;
        self.readers.push(self.started * THREADS_MAX);
        self.take(process)
    }

    fn take(&mut self, process: Process) -> Outcome<()> {
        let (is_success, told) = process.end()?;
        self.told.extend(told);
        match is_success {
            true => Ok(()),
            false => Err("a client has failed".into()),
        }
    }

    /// The callers of the last reads.
    #[must_use]
    pub fn readers(&self) -> &[u32] {
        &self.readers
    }

    /// What all that have ended told, line by line.
    #[must_use]
    pub fn told(&self) -> &[String] {
        &self.told
    }
}

impl Process {
    /// Waits until it has ended; whether with success, and what it told.
    fn end(mut self) -> Outcome<(bool, Vec<String>)> {
        let deadline = Instant::now() + END_MAX;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill()?;
                return Err("a client does not end".into());
            }
            std::thread::sleep(LOOK_EVERY);
        };
        spare_on_signals(Pid::from_child(&self.child));
        let told = self.reader.join().map_err(|_| "a reader has panicked")?;
        Ok((status.success(), told))
    }
}

fn lines(out: ChildStdout) -> Vec<String> {
    // A kill may come in the middle of a line: what it says is not known then.
    let lines = BufReader::new(out).lines();
    lines.map_while(Result::ok).collect()
}

impl Drop for Clients {
    fn drop(&mut self) {
        for process in self
            .places
            .iter_mut()
            .filter_map(|place| place.process.as_mut())
        {
            // It may have ended already.
            _ = process.child.kill();
            _ = process.child.wait();
            spare_on_signals(Pid::from_child(&process.child));
        }
    }
}
