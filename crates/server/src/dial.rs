//! Connecting to another server of the cluster and greeting it. Names are looked up and both ends
//! wait for one another, so whoever calls this is a thread of its own, and no worker.

use farcache_cluster::{Address, ClusterMap, ServerId};
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
use farcache_fabric::{Grant, Port};
use farcache_peers::greeting::{
    CHALLENGE_BYTES, Challenge, Hello, Nonce, Secret, VERDICT_BYTES, Verdict, decode_verdict,
};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A server's end of the network towards other servers.
pub type CallPort = dyn Port<SendBytes, ReceiveBytes>;

/// What came of a worker's wish for a connection.
pub struct Dialled {
    /// The worker's wire.
    pub index: usize,
    /// Which attempt of that wire.
    pub attempt: u64,
    /// The connection, or why there is none.
    pub result: Result<Made, Unconnected>,
}

/// A connection that has been made.
pub struct Made {
    /// The connection, which does not block.
    pub socket: OwnedFd,
    /// The session on the fabric that the peer has granted.
    pub grant: Option<Grant>,
    /// A port for it, where there was none.
    pub port: Option<Box<CallPort>>,
}

impl fmt::Debug for Dialled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = self.result.as_ref().map(|made| made.grant.is_some());
        write!(formatter, "attempt {}: {result:?}", self.attempt)
    }
}

/// Connects to the first of these addresses that answers as the server which is meant. Each step
/// may take `timeout`. The connection does not block.
///
/// # Errors
/// Why none does.
pub fn connect(
    addresses: &[Address],
    timeout: Duration,
    hello: &Hello,
    secret: Option<&Secret>,
) -> Result<OwnedFd, String> {
    let opened = open(addresses, timeout, hello, secret).and_then(unblocked);
    opened.map_err(|unconnected| unconnected.reason)
}

/// Has the connection block no more.
///
/// # Errors
/// As the system's.
pub fn unblocked(connection: Connection) -> Result<OwnedFd, Unconnected> {
    let made = match connection {
        Connection::Tcp(stream) => stream.set_nonblocking(true).map(|()| stream.into()),
        Connection::Unix(stream) => stream.set_nonblocking(true).map(|()| stream.into()),
    };
    made.map_err(|error: io::Error| Unconnected::because(error.to_string()))
}

/// A connection to a peer that has let this server in.
pub enum Connection {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(stream) => stream.read(buffer),
            Connection::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(stream) => stream.write(bytes),
            Connection::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Connection::Tcp(stream) => stream.as_fd(),
            Connection::Unix(stream) => stream.as_fd(),
        }
    }
}

/// Why there is none.
#[derive(Clone, Debug)]
pub struct Unconnected {
    /// The last reason, with its address.
    pub reason: String,
    /// Nobody listens at any of the addresses.
    pub is_nobody_there: bool,
}

impl Unconnected {
    /// For a reason of this server's own.
    pub fn because(reason: String) -> Unconnected {
        Unconnected {
            reason,
            is_nobody_there: false,
        }
    }
}

/// Opens a connection to a server at one of its addresses and greets it; each later call that waits
/// may take `timeout`, too.
///
/// # Errors
/// [`Unconnected`]
pub fn open(
    addresses: &[Address],
    timeout: Duration,
    hello: &Hello,
    secret: Option<&Secret>,
) -> Result<Connection, Unconnected> {
    let mut unconnected = Unconnected {
        reason: "it has no address in the map".to_owned(),
        is_nobody_there: !addresses.is_empty(),
    };
    for address in addresses {
        match connect_to(address, timeout, hello, secret) {
            Ok(connection) => return Ok(connection),
            Err(error) => {
                let absent = [io::ErrorKind::ConnectionRefused, io::ErrorKind::NotFound];
                unconnected.is_nobody_there &= absent.contains(&error.kind());
                unconnected.reason = format!("{address}: {error}");
            }
        }
    }
    Err(unconnected)
}

fn connect_to(
    address: &Address,
    timeout: Duration,
    hello: &Hello,
    secret: Option<&Secret>,
) -> io::Result<Connection> {
    if address.port == 0 {
        let mut stream = UnixStream::connect(&address.host)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        greet(&mut stream, hello, secret)?;
        return Ok(Connection::Unix(stream));
    }
    let mut stream = connect_tcp(address, timeout)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    greet(&mut stream, hello, secret)?;
    Ok(Connection::Tcp(stream))
}

/// Connects to the first of a name's places that takes it.
///
/// # Errors
/// That of the last place.
pub fn connect_tcp(address: &Address, timeout: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::other("the name has no address");
    for place in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// What the server `from` of this map says to the peer `to` first.
pub fn hello(from: ServerId, to: ServerId, map: &ClusterMap) -> Hello {
    Hello {
        from: from.0,
        to: to.0,
        epoch: map.epoch().0,
        nonce: nonce(),
        cluster: map.content().cluster.to_string(),
    }
}

/// A new random number.
///
/// # Panics
/// Where the system has none.
pub fn nonce() -> Nonce {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).expect("the system has random numbers");
    nonce
}

/// Says who this server is, and finds out who the other one is.
///
/// # Errors
/// As the connection's, and where one end refuses the other.
pub fn greet(
    stream: &mut (impl Read + Write),
    hello: &Hello,
    secret: Option<&Secret>,
) -> io::Result<()> {
    let said = hello.encode();
    stream.write_all(&said)?;
    let mut bytes = [0; CHALLENGE_BYTES];
    // A server that is no peer answers less, and in text.
    stream.read_exact(&mut bytes[..5])?;
    if bytes.starts_with(b"ERROR") {
        return Err(io::Error::other("it takes no peers (--cluster-self)"));
    }
    stream.read_exact(&mut bytes[5..])?;
    let decoded = Challenge::decode(&bytes, &said, secret).map_err(io::Error::other)?;
    let (
        Challenge {
            verdict: Verdict::Prove,
            ..
        },
        said,
    ) = decoded
    else {
        return Ok(());
    };
    let secret = secret.expect("a proof is checked with it");
    stream.write_all(&secret.proof(&said))?;
    let mut bytes = [0; VERDICT_BYTES];
    stream.read_exact(&mut bytes)?;
    match decode_verdict(bytes) {
        Some(Verdict::Welcome) => Ok(()),
        Some(refusal) => Err(io::Error::other(refusal.text())),
        None => Err(io::Error::other(
            "it does not answer as a server of a cluster",
        )),
    }
}
