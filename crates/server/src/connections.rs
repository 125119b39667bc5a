//! Who is connected: what `stats conns` shows.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A UDP address.
    Udp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(SocketAddr::V4(address)) => write!(out, "tcp:{address}"),
            Address::Tcp(address) => write!(out, "tcp6:{address}"),
            Address::Udp(SocketAddr::V4(address)) => write!(out, "udp:{address}"),
            Address::Udp(address) => write!(out, "udp6:{address}"),
            Address::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// What a connection is doing, with the names that memcached gives the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Accepts connections.
    Listening,
    /// Waits for its client's next request.
    Reading,
    /// A large value is arriving.
    ReadingValue,
    /// Its client does not read the replies as fast as they come.
    Writing,
    /// Shows log lines (`watch`).
    Watching,
}

impl State {
    const ALL: [State; 5] = [
        State::Listening,
        State::Reading,
        State::ReadingValue,
        State::Writing,
        State::Watching,
    ];

    /// memcached's name of the state.
    pub fn name(self) -> &'static str {
        match self {
            State::Listening => "conn_listening",
            State::Reading => "conn_read",
            State::ReadingValue => "conn_nread",
            State::Writing => "conn_mwrite",
            State::Watching => "conn_watch",
        }
    }
}

/// A connection as other threads see it.
#[derive(Debug)]
pub struct ConnectionInfo {
    /// File descriptor, which `stats conns` shows as the connection's number.
    pub fd: i32,
    /// The client's end (for a listener: its own).
    pub peer: Address,
    /// The listener through which it came, shared by all of its connections.
    pub listener: Arc<Address>,
    state: AtomicU8,
    last_command: AtomicU32,
    /// Networks of the session on the fabric whose life line this is.
    fabric: Mutex<Option<String>>,
}

impl ConnectionInfo {
    /// A connection that was opened at `now`, in seconds of the server's clock.
    pub fn new(fd: i32, peer: Address, listener: Arc<Address>, state: State, now: u32) -> Self {
        ConnectionInfo {
            fd,
            peer,
            listener,
            state: AtomicU8::new(state as u8),
            last_command: AtomicU32::new(now),
            fabric: Mutex::default(),
        }
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        State::ALL[usize::from(self.state.load(Relaxed))]
    }

    /// Says what it is doing.
    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Relaxed);
    }

    /// The networks of the session on the fabric whose life line this is.
    pub fn fabric(&self) -> Option<String> {
        self.fabric.lock().expect("no panic while held").clone()
    }

    /// The connection has become the life line of a session over these networks, or is none any
    /// more.
    pub fn set_fabric(&self, networks: Option<String>) {
        *self.fabric.lock().expect("no panic while held") = networks;
    }

    /// When its client last sent something, in seconds of the server's clock.
    pub fn last_command(&self) -> u32 {
        self.last_command.load(Relaxed)
    }

    /// Notes that its client sent something at `now`.
    pub fn set_last_command(&self, now: u32) {
        self.last_command.store(now, Relaxed);
    }
}

/// Every open connection and listener.
#[derive(Debug, Default)]
pub struct Connections {
    by_fd: Mutex<BTreeMap<i32, Arc<ConnectionInfo>>>,
    clients: AtomicUsize,
}

impl Connections {
    /// Adds a listener.
    pub fn add_listener(&self, info: ConnectionInfo) {
        self.map().insert(info.fd, Arc::new(info));
    }

    /// Adds a client's connection.
    pub fn add(&self, info: Arc<ConnectionInfo>) {
        self.clients.fetch_add(1, Relaxed);
        self.map().insert(info.fd, info);
    }

    /// Removes a client's connection. Must come before its descriptor is closed, or a new
    /// connection with the same number could be removed instead.
    pub fn remove(&self, info: &ConnectionInfo) {
        self.map().remove(&info.fd);
        self.clients.fetch_sub(1, Relaxed);
    }

    /// Clients connected now.
    pub fn clients(&self) -> usize {
        self.clients.load(Relaxed)
    }

    /// All of them, in the order of their numbers.
    pub fn all(&self) -> Vec<Arc<ConnectionInfo>> {
        self.map().values().cloned().collect()
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<ConnectionInfo>>> {
        self.by_fd.lock().expect("no panic while held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(fd: i32, peer: &str) -> Arc<ConnectionInfo> {
        let peer = Address::Tcp(peer.parse().expect("an address"));
        let listener = Arc::new(Address::Tcp("127.0.0.1:11211".parse().expect("an address")));
        Arc::new(ConnectionInfo::new(fd, peer, listener, State::Reading, 5))
    }

    #[test]
    fn addresses_are_shown_as_memcached_shows_them() {
        assert_eq!(info(7, "127.0.0.1:80").peer.to_string(), "tcp:127.0.0.1:80");
        assert_eq!(info(7, "[::1]:80").peer.to_string(), "tcp6:[::1]:80");
        assert_eq!(
            Address::Unix("/run/f.sock".into()).to_string(),
            "unix:/run/f.sock"
        );
    }

    #[test]
    fn connections_come_and_go() {
        let connections = Connections::default();
        let (first, second) = (info(9, "127.0.0.1:80"), info(7, "127.0.0.1:81"));
        connections.add(Arc::clone(&first));
        connections.add(Arc::clone(&second));
        assert_eq!(
            connections.all().iter().map(|c| c.fd).collect::<Vec<_>>(),
            [7, 9]
        );
        connections.remove(&first);
        assert_eq!(connections.clients(), 1);
        assert_eq!(connections.all()[0].peer, second.peer);
    }

    #[test]
    fn the_state_is_kept() {
        let info = info(7, "127.0.0.1:80");
        info.set_state(State::Watching);
        info.set_last_command(99);
        assert_eq!(
            (info.state().name(), info.last_command()),
            ("conn_watch", 99)
        );
    }
}
