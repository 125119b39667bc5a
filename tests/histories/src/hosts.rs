//! Where the processes of a run live: on this host's loopback, or in network namespaces of their
//! own, joined by a bridge, which can be cut apart one way or both.
//!
//! A way is cut by the table of neighbours: what leaves for a host whose link address is made
//! another one reaches nobody. So requests vanish, as on a network that is cut, rather than being
//! refused, and nothing is needed but `ip` (Debian's iproute2).

use crate::Outcome;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Ports that the system gives to nobody by itself: a server that was killed finds its port free.
const PORTS: std::ops::Range<u16> = 16_000..30_000;

/// The port of a server in a namespace of its own.
const OWN_PORT: u16 = 11_211;

/// Most hosts of a run.
const HOSTS_MAX: usize = 200;

/// How long a question to a server may take.
const ASK_MAX: Duration = Duration::from_secs(5);

/// A host of the run: where one server, or one client process, lives.
pub type Host = usize;

/// The hosts of a run.
pub enum Hosts {
    /// All are this one.
    Loopback,
    /// Each is a namespace.
    Namespaces(Namespaces),
}

/// Namespaces that are deleted with this.
pub struct Namespaces {
    /// What their names begin with.
    name: String,
    count: usize,
}

/// Whether network namespaces can be made here; why not, otherwise.
///
/// # Errors
/// What failed.
pub fn can_be_cut() -> Outcome<()> {
    let hosts = Namespaces::new(2)?;
    hosts.cut(0, 1)?;
    hosts.mend(0, 1)?;
    Ok(())
}

impl Hosts {
    /// So many hosts in namespaces.
    ///
    /// # Errors
    /// They cannot be made here.
    pub fn in_namespaces(count: usize) -> Outcome<Hosts> {
        Ok(Hosts::Namespaces(Namespaces::new(count)?))
    }

    /// Whether ways can be cut.
    #[must_use]
    pub fn can_be_cut(&self) -> bool {
        matches!(self, Hosts::Namespaces(_))
    }

    /// Where a server on this host may listen.
    #[must_use]
    pub fn address(&self, host: Host) -> SocketAddr {
        match self {
            Hosts::Loopback => (Ipv4Addr::LOCALHOST, free_port()).into(),
            Hosts::Namespaces(_) => (address(host), OWN_PORT).into(),
        }
    }

    /// Another one on the same host.
    #[must_use]
    pub fn second_address(&self, host: Host) -> SocketAddr {
        match self {
            Hosts::Loopback => self.address(host),
            Hosts::Namespaces(_) => (address(host), OWN_PORT + 1).into(),
        }
    }

    /// What starts a program on this host.
    #[must_use]
    pub fn command(&self, host: Host, program: &Path) -> Command {
        match self {
            Hosts::Loopback => Command::new(program),
            Hosts::Namespaces(spaces) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &spaces.of(host)]);
                command.arg(program);
                command
            }
        }
    }

    /// Connects to a server from its own host.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn connect(&self, host: Host, address: SocketAddr) -> Outcome<TcpStream> {
        let connect = move || -> Outcome<TcpStream> {
            let stream = TcpStream::connect_timeout(&address, ASK_MAX)?;
            stream.set_read_timeout(Some(ASK_MAX))?;
            Ok(stream)
        };
        let Hosts::Namespaces(spaces) = self else {
            return connect();
        };
        let space = File::open(format!("/run/netns/{}", spaces.of(host)))?;
        // The namespace is that of a thread, and of the sockets that it opens.
        let thread = std::thread::spawn(move || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(space.as_fd(), kind)?;
            connect()
        });
        thread.join().map_err(|_| "connecting has panicked")?
    }

    /// Cuts the way from one host to another; what comes back is not cut.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn cut(&self, from: Host, to: Host) -> Outcome<()> {
        match self {
            Hosts::Loopback => Err("a host cannot be cut from itself".into()),
            Hosts::Namespaces(spaces) => spaces.cut(from, to),
        }
    }

    /// Ends a cut.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn mend(&self, from: Host, to: Host) -> Outcome<()> {
        match self {
            Hosts::Loopback => Ok(()),
            Hosts::Namespaces(spaces) => spaces.mend(from, to),
        }
    }
}

fn address(host: Host) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1).into()
}

fn link_address(host: Host) -> String {
    format!("02:00:00:00:00:{:02x}", host + 1)
}

/// Of nobody.
const NO_LINK_ADDRESS: &str = "02:00:00:00:01:00";

impl Namespaces {
    fn new(count: usize) -> Outcome<Namespaces> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        if count > HOSTS_MAX {
            return Err(format!("more than {HOSTS_MAX} hosts").into());
        }
        let run = RUNS.fetch_add(1, Relaxed);
        let name = format!("fh{:x}-{run:x}", std::process::id());
        let spaces = Namespaces { name, count };
        let bridge = &spaces.name;
        let mut lines = format!("link add {bridge} type bridge\nlink set {bridge} up\n");
        for host in 0..count {
            let (space, link) = (spaces.of(host), spaces.of(host));
            let own = link_address(host);
            writeln!(lines, "netns add {space}")?;
            let pair = format!("type veth peer name eth0 address {own} netns {space}");
            writeln!(lines, "link add {link} {pair}")?;
            writeln!(lines, "link set {link} master {bridge} up")?;
        }
        batch(&[], &lines)?;
        for host in 0..count {
            let mut lines = String::from("link set lo up\n");
            writeln!(lines, "addr add {}/24 dev eth0", address(host))?;
            writeln!(lines, "link set eth0 up")?;
            for other in (0..count).filter(|other| *other != host) {
                writeln!(lines, "{}", neighbour(other, &link_address(other)))?;
            }
            spaces.batch_in(host, &lines)?;
        }
        Ok(spaces)
    }

    fn of(&self, host: Host) -> String {
        format!("{}.{host:x}", self.name)
    }

    fn batch_in(&self, host: Host, lines: &str) -> Outcome<()> {
        batch(&["-n", &self.of(host)], lines)
    }

    fn cut(&self, from: Host, to: Host) -> Outcome<()> {
        self.batch_in(from, &neighbour(to, NO_LINK_ADDRESS))
    }

    fn mend(&self, from: Host, to: Host) -> Outcome<()> {
        self.batch_in(from, &neighbour(to, &link_address(to)))
    }
}

fn neighbour(host: Host, link_address: &str) -> String {
    let address = address(host);
    format!("neigh replace {address} lladdr {link_address} nud permanent dev eth0")
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let spaces = (0..self.count).map(|host| format!("netns del {}\n", self.of(host)));
        let bridge = format!("link del {}\n", self.name);
        let lines: String = spaces.chain([bridge]).collect();
        // What was not made cannot be deleted.
        _ = batch(&["-force"], &lines);
    }
}

/// Has `ip` carry out these lines.
fn batch(options: &[&str], lines: &str) -> Outcome<()> {
    let mut command = Command::new("ip");
    command.args(options).args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // Why it does not take them is told by its status.
        _ = input.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    let first = (std::process::id() as u16).wrapping_mul(89) % count;
    let mut ports =
        std::iter::repeat_with(|| PORTS.start + (first + NEXT.fetch_add(1, Relaxed)) % count);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).unwrap_or_default()
}
