//! A server under test: started pinned to a core, watched through `/proc`, stopped for sure.

mod output;
mod port_file;
mod usage;

use crate::pinning::pinned;
use crate::target::Target;
use output::Output;
use port_file::PortFile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
pub use usage::{resident_bytes_of, resident_peak_bytes_of};

/// How long a server may take to listen or to end.
const START_STOP_MAX: Duration = Duration::from_secs(60);
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// What makes both servers choose a free port.
const ANY_PORT: &str = "-1";

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    /// Ours.
    Farcached,
    /// The one that ours replaces.
    Memcached,
}

impl Product {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Product::Farcached => "farcached",
            Product::Memcached => "memcached",
        }
    }
}

/// How servers are started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Program of each product.
    pub farcached: PathBuf,
    /// Program of each product.
    pub memcached: PathBuf,
    /// Core of the server, if pinned.
    pub cpu: Option<usize>,
    /// Whom the servers run as where this process is root, from which they take their rights.
    pub user: String,
}

/// The user for servers whose clients need no share of their memory.
pub const UNPRIVILEGED_USER: &str = "nobody";

impl Launcher {
    /// Starts a server with one worker on a free port, and waits until it listens.
    ///
    /// # Errors
    /// If it cannot be started, ends at once, or does not listen in time.
    pub fn start(&self, product: Product, options: &[&str]) -> io::Result<ServerProcess> {
        self.start_with(product, options, &[])
    }

    /// Starts a server with these variables in its environment.
    ///
    /// # Errors
    /// As [`Launcher::start`].
    pub fn start_with(
        &self,
        product: Product,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> io::Result<ServerProcess> {
        // A port that was looked for here could be taken by others before the server listens.
        let port_file = PortFile::new()?;
        let mut told = environment.to_vec();
        let path = port_file.path();
        told.push((port_file::VARIABLE, &path));
        let mut server = self.spawn(ANY_PORT, product, options, &told)?;
        let port = server.wait_for("tell its port", || port_file.port())?;
        server.address.set_port(port);
        server.wait_until_listening()?;
        Ok(server)
    }

    /// Starts a server on this port, with these variables in its environment.
    ///
    /// # Errors
    /// As [`Launcher::start`].
    pub fn start_on(
        &self,
        port: u16,
        product: Product,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> io::Result<ServerProcess> {
        let mut server = self.spawn(&port.to_string(), product, options, environment)?;
        server.address.set_port(port);
        server.wait_until_listening()?;
        Ok(server)
    }

    fn spawn(
        &self,
        port: &str,
        product: Product,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> io::Result<ServerProcess> {
        let output = Output::new()?;
        let program = match product {
            Product::Farcached => &self.farcached,
            Product::Memcached => &self.memcached,
        };
        let mut command = Command::new(program);
        command
            .args(["-l", "127.0.0.1", "-t", "1", "-p", port])
            .args(options);
        if rustix::process::getuid().is_root() {
            command.args(["-u", &self.user]);
        }
        command
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.writer()?)
            .stderr(output.writer()?);
        let child = pinned(self.cpu, || command.spawn())?.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", program.display()))
        })?;
        Ok(ServerProcess::new(product, child, output))
    }
}

/// Ports that are free now, each another one: for servers that must know of each other before they
/// start. Others may take one before the server listens.
///
/// # Errors
/// If so many cannot be had.
pub fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    // All are held until all are known, so that they differ.
    let listen = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listeners: Vec<_> = (0..count).map(listen).collect::<io::Result<_>>()?;
    let port = |listener: &TcpListener| Ok(listener.local_addr()?.port());
    listeners.iter().map(port).collect()
}

/// Servers and other helpers that run, so that a signal to this process does not leave them behind.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process is to be killed by such a signal.
pub fn kill_on_signals(pid: Pid) {
    running().push(pid);
}

/// It has ended.
pub fn spare_on_signals(pid: Pid) {
    running().retain(|other| *other != pid);
}

/// From now on, SIGINT and SIGTERM kill the servers under test before they end this process.
///
/// # Errors
/// If the handlers cannot be set up.
pub fn stop_servers_on_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for pid in running().iter() {
                // One that has ended meanwhile needs no killing.
                let _ = rustix::process::kill_process(*pid, rustix::process::Signal::KILL);
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// A running server; killed when dropped.
pub struct ServerProcess {
    product: Product,
    child: Child,
    output: Output,
    address: SocketAddr,
}

impl ServerProcess {
    /// Which server it is.
    pub fn product(&self) -> Product {
        self.product
    }

    /// Where it listens.
    pub fn target(&self) -> Target {
        Target::Tcp(self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A server that has been started; where it listens is not known yet.
    fn new(product: Product, child: Child, output: Output) -> Self {
        let server = ServerProcess {
            product,
            child,
            output,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        };
        kill_on_signals(server.pid());
        server
    }

    fn wait_until_listening(&mut self) -> io::Result<()> {
        let address = self.address;
        self.wait_for("listen", || TcpStream::connect(address).ok())?;
        Ok(())
    }

    /// Looks until there is an answer.
    fn wait_for<T>(&mut self, what: &str, look: impl Fn() -> Option<T>) -> io::Result<T> {
        let deadline = Instant::now() + START_STOP_MAX;
        let name = self.product.name();
        loop {
            if !self.is_running() {
                return Err(io::Error::other(self.state()));
            }
            if let Some(answer) = look() {
                return Ok(answer);
            }
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("{name} does not {what}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether it runs or how it has ended, and the end of what it has written: for whom it has
    /// failed.
    pub fn state(&mut self) -> String {
        let name = self.product.name();
        let output = self.output.end();
        match self.child.try_wait() {
            Ok(None) => format!("{name} runs\n{output}"),
            Ok(Some(status)) => format!("{name} ended: {status}\n{output}"),
            Err(error) => format!("{name}: {error}\n{output}"),
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has it stand still for so long, as if its machine did.
    ///
    /// # Errors
    /// It has ended.
    pub fn stall(&self, time: Duration) -> io::Result<()> {
        rustix::process::kill_process(self.pid(), Signal::STOP)?;
        std::thread::sleep(time);
        Ok(rustix::process::kill_process(self.pid(), Signal::CONT)?)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Asks it to end (SIGTERM) and waits; true if it ended with status 0.
    ///
    /// # Errors
    /// If it does not end in time.
    pub fn stop(mut self) -> io::Result<bool> {
        // How long it takes is measured, so it is told of the end instead of looking for it.
        let end = rustix::process::pidfd_open(self.pid(), PidfdFlags::empty())?;
        rustix::process::kill_process(self.pid(), Signal::TERM)?;
        let time = Timespec {
            tv_sec: START_STOP_MAX.as_secs() as i64,
            tv_nsec: 0,
        };
        let mut ended = [PollFd::new(&end, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut ended, Some(&time)))?;
        match self.child.try_wait()? {
            Some(status) => Ok(status.success()),
            None => Err(io::Error::other(format!(
                "{} does not end",
                self.product.name()
            ))),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // An error means that it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
        spare_on_signals(self.pid());
    }
}

/// Allows this process and those it starts as many descriptors as the system lets it have, up to
/// `wanted`; returns how many.
///
/// # Errors
/// If the limit cannot be set.
pub fn raise_descriptor_limit(wanted: u64) -> io::Result<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let higher = Rlimit {
        current: Some(wanted),
        maximum: Some(wanted.max(hard)),
    };
    if wanted > hard && setrlimit(Resource::Nofile, higher).is_ok() {
        return Ok(wanted);
    }
    let current = wanted
        .min(hard)
        .max(limit.current.unwrap_or(u64::MAX).min(hard));
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(current),
            maximum: limit.maximum,
        },
    )?;
    Ok(current)
}
