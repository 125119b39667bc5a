//! Connecting to a server: name, socket, encryption, authentication, and the question for the
//! fabric.
//!
//! Each attempt has a thread of its own, which ends with it: looking a name up blocks, and so does
//! opening the fabric for the first time.

mod exchange;
mod text_server;
mod tls;
mod ucx;

pub use ucx::Ucx;

use crate::distribution::Server;
use crate::{ClientConfig, ConnectError, ConnectStage, Credentials, Error, Transport};
use exchange::{Answer, NO_ANSWER, ask, ask_noop};
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
use farcache_fabric::frame::VERSION;
use farcache_fabric::grant::Network;
use farcache_fabric::tcp::Stream;
use farcache_fabric::{Error as FabricError, Grant, Port};
use farcache_proto::binary::{Opcode, Status};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tls::Tls;

/// The opcode of the question for the fabric. Source: `docs/design/fabric.md`.
const UPGRADE: u8 = 0xf0;

/// After so long a server that has said nothing to a binary question is asked by text. (memcached
/// with `-B ascii` says at once that it does not understand: see `exchange::LINE_END`.)
const PATIENCE: Duration = Duration::from_millis(250);

/// The patience with a server that has said nothing is at most this part of the time for
/// connecting.
const PATIENCE_PART: f64 = 0.3;

/// A client's end of the fabric.
pub type ClientPort = Box<dyn Port<SendBytes, ReceiveBytes>>;

/// A network that the fabric can run over.
pub trait Fabric: Send + Sync + 'static {
    /// Its name in the conversation with a server.
    fn network(&self) -> Network;

    /// Opens this client's end of it.
    ///
    /// # Errors
    /// It does not work here; the client goes on over sockets if it may.
    fn open(&self) -> Result<ClientPort, FabricError>;
}

/// A connection that has been made.
pub(crate) struct Connected {
    pub(crate) stream: Stream,
    /// The server's grant, or why there is none.
    pub(crate) grant: Result<Grant, Box<str>>,
}

/// Whether the client's end of the fabric has been opened.
enum Opened {
    NotYet,
    /// With it, until the driver takes it.
    Yes(Option<ClientPort>),
    Failed(Box<str>),
}

/// What every attempt needs.
pub(crate) struct Connector {
    servers: Vec<Server>,
    tls: Option<Tls>,
    credentials: Option<Credentials>,
    transport: Transport,
    timeout: Duration,
    /// How long an answer may take, once there is a connection.
    answer_timeout: Duration,
    fabric: Arc<dyn Fabric>,
    opened: Mutex<Opened>,
    /// Servers that have turned out to speak text only.
    speaks_text: Vec<AtomicBool>,
    /// Servers that know meta commands only.
    speaks_meta: Vec<AtomicBool>,
    /// Meta commands are spoken to servers that are used over sockets, where they know them.
    prefers_meta: bool,
}

impl Connector {
    /// Reads what must be read once. `servers` are in the order of the placement.
    pub(crate) fn new(
        config: &ClientConfig,
        servers: &[Server],
        transport: Transport,
        fabric: Arc<dyn Fabric>,
    ) -> Result<Self, Error> {
        Ok(Connector {
            servers: servers.to_vec(),
            tls: config.tls.as_ref().map(Tls::new).transpose()?,
            credentials: config.credentials.clone(),
            transport,
            timeout: config.connect_timeout,
            answer_timeout: config.connect_answer_timeout.unwrap_or(Duration::MAX),
            fabric,
            opened: Mutex::new(Opened::NotYet),
            speaks_text: servers.iter().map(|_| AtomicBool::new(false)).collect(),
            speaks_meta: servers.iter().map(|_| AtomicBool::new(false)).collect(),
            prefers_meta: config.prefers_meta,
        })
    }

    /// Begins an attempt; `done` is called with its result by another thread.
    pub(crate) fn start(
        self: &Arc<Self>,
        server: usize,
        done: impl FnOnce(Result<Connected, Error>) + Send + 'static,
    ) -> io::Result<()> {
        let connector = Arc::clone(self);
        std::thread::Builder::new()
            .name("farcache-connect".into())
            .spawn(move || done(connector.connect(server)))
            .map(drop)
    }

    fn connect(&self, server: usize) -> Result<Connected, Error> {
        let deadline = Instant::now() + self.timeout;
        let wants_meta = self.prefers_meta && self.credentials.is_none();
        let is_text = wants_meta && self.transport == Transport::Tcp;
        if is_text || self.speaks_text[server].load(Ordering::Relaxed) {
            return self.connect_by_text(server, deadline);
        }
        let stream = self.stream(&self.servers[server], deadline)?;
        let patience = PATIENCE.min(self.timeout.mul_f64(PATIENCE_PART));
        let patience = patience.min(self.answer_timeout);
        match self.connect_by_packets(stream, Instant::now() + patience) {
            Err(error @ (Error::Connect(_) | Error::Protocol(_))) => {
                self.connect_once_more(server, error, deadline)
            }
            Ok(made)
                if wants_meta && made.grant.is_err() && self.transport != Transport::Fabric =>
            {
                self.connect_by_text(server, deadline)
            }
            outcome => outcome,
        }
    }

    /// Connects to a server that speaks the binary protocol: asks at least one question.
    fn connect_by_packets(
        &self,
        mut stream: Stream,
        deadline: Instant,
    ) -> Result<Connected, Error> {
        if let Some(credentials) = &self.credentials {
            authenticate(&mut stream, credentials, deadline)?;
        }
        let began = Instant::now();
        let opened = match self.transport {
            Transport::Tcp => Err("sockets were asked for".into()),
            _ => self.open(),
        };
        // Opening the network here, for the first time, is not the server's time.
        let deadline = deadline + began.elapsed();
        let grant = match opened {
            Ok(()) => self.upgrade(&mut stream, deadline)?,
            Err(reason) => {
                if self.credentials.is_none() {
                    // Now, rather than with the first operation, is when a certificate is refused,
                    // or a server shows that it does not speak in packets.
                    ask_noop(&mut stream, deadline)?;
                }
                Err(reason)
            }
        };
        Ok(Connected { stream, grant })
    }

    fn stream(&self, server: &Server, deadline: Instant) -> Result<Stream, Error> {
        if server.port() == 0 {
            let socket = UnixStream::connect(server.host()).map_err(|error| refused(&error))?;
            return Stream::plain(socket).map_err(|error| refused(&error));
        }
        let socket = dial(server, deadline)?;
        let stream = match &self.tls {
            None => Stream::plain(socket),
            Some(tls) => Stream::encrypted(socket, tls.connection(server.host())?),
        };
        stream.map_err(|error| refused(&error))
    }

    /// Asks for the fabric. Every answer but a grant means that there is none.
    fn upgrade(
        &self,
        stream: &mut Stream,
        deadline: Instant,
    ) -> Result<Result<Grant, Box<str>>, Error> {
        let network = self.fabric.network();
        let question = [VERSION, network as u8];
        let answer = ask(stream, UPGRADE, &[], &question, deadline)?;
        Ok(read_grant(&answer, network))
    }

    /// The client's end of the fabric, once it has been opened, for the first who asks: whichever
    /// of several attempts at the same time ends first needs it.
    pub(crate) fn take_port(&self) -> Option<ClientPort> {
        match &mut *self.opened.lock().expect("no panic while held") {
            Opened::Yes(port) => port.take(),
            _ => None,
        }
    }

    /// Opens the client's end of the fabric the first time.
    fn open(&self) -> Result<(), Box<str>> {
        let mut opened = self.opened.lock().expect("no panic while held");
        match &*opened {
            Opened::Yes(_) => Ok(()),
            Opened::Failed(reason) => Err(reason.clone()),
            Opened::NotYet => match self.fabric.open() {
                Ok(port) => {
                    *opened = Opened::Yes(Some(port));
                    Ok(())
                }
                Err(error) => {
                    let reason: Box<str> = error.to_string().into();
                    *opened = Opened::Failed(reason.clone());
                    Err(reason)
                }
            },
        }
    }
}

fn read_grant(answer: &Answer, network: Network) -> Result<Grant, Box<str>> {
    if answer.is(Status::UnknownCommand) {
        return Err("the server does not offer it".into());
    }
    if !answer.is(Status::Success) {
        return Err(format!("the server refused: {}", answer.text()).into());
    }
    let grant = Grant::decode(&answer.value).map_err(|error| error.to_string())?;
    match grant.network == network {
        true => Ok(grant),
        false => Err("the server offers another network".into()),
    }
}

/// Connects to the first address of the host that answers.
fn dial(server: &Server, deadline: Instant) -> Result<TcpStream, Error> {
    let no_address = |why: &str| Error::Connect(ConnectError::new(ConnectStage::NoAddress, why));
    let addresses = (server.host(), server.port())
        .to_socket_addrs()
        .map_err(|error| no_address(&error.to_string()))?;
    let mut failure = no_address("the name has no address");
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(unreachable());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                // Without it everything works, only slower.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => failure = unreachable(),
            Err(error) => failure = refused(&error),
        }
    }
    Err(failure)
}

fn unreachable() -> Error {
    Error::Connect(ConnectError::new(ConnectStage::Unreachable, NO_ANSWER))
}

fn authenticate(
    stream: &mut Stream,
    credentials: &Credentials,
    deadline: Instant,
) -> Result<(), Error> {
    let message = format!("\0{}\0{}", credentials.user, credentials.password);
    let opcode = Opcode::SaslAuth as u8;
    let answer = ask(stream, opcode, b"PLAIN", message.as_bytes(), deadline)?;
    if answer.is(Status::Success) {
        return Ok(());
    }
    Err(Error::AuthFailed(match answer.is(Status::UnknownCommand) {
        true => "the server does not authenticate by SASL".into(),
        false => answer.text().into(),
    }))
}

fn refused(error: &io::Error) -> Error {
    Error::Connect(ConnectError::of(ConnectStage::Refused, error))
}
