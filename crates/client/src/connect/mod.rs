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
use exchange::{Answer, NO_ANSWER, Question, ask, ask_noop};
use farcache_cluster::ClusterMap;
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
    /// Packets go over the stream as they are.
    speaks_binary: bool,
    /// The map of the server's cluster, where the client is to follow it and does not know it.
    pub(crate) map: Option<ClusterMap>,
}

/// A server, and what attempts to connect to it have found.
pub(crate) struct Target {
    server: Server,
    /// It has turned out to speak text only.
    speaks_text: AtomicBool,
    /// It knows meta commands only.
    speaks_meta: AtomicBool,
}

impl Target {
    /// Nothing is known yet.
    pub(crate) fn new(server: Server) -> Self {
        Target {
            server,
            speaks_text: AtomicBool::new(false),
            speaks_meta: AtomicBool::new(false),
        }
    }
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
    tls: Option<Tls>,
    credentials: Option<Credentials>,
    transport: Transport,
    timeout: Duration,
    /// How long an answer may take, once there is a connection.
    answer_timeout: Duration,
    fabric: Arc<dyn Fabric>,
    opened: Mutex<Opened>,
    /// Meta commands are spoken to servers that are used over sockets, where they know them.
    prefers_meta: bool,
    /// Servers are asked for the map of their cluster.
    follows_map: bool,
}

impl Connector {
    /// Reads what must be read once.
    pub(crate) fn new(
        config: &ClientConfig,
        transport: Transport,
        fabric: Arc<dyn Fabric>,
    ) -> Result<Self, Error> {
        Ok(Connector {
            tls: config.tls.as_ref().map(Tls::new).transpose()?,
            credentials: config.credentials.clone(),
            transport,
            timeout: config.connect_timeout,
            answer_timeout: config.connect_answer_timeout.unwrap_or(Duration::MAX),
            fabric,
            opened: Mutex::new(Opened::NotYet),
            prefers_meta: config.prefers_meta,
            follows_map: config.follows_map,
        })
    }

    /// Begins an attempt; `done` is called with its result by another thread. The client knows the
    /// map of this edition, 0 for none.
    pub(crate) fn start(
        self: &Arc<Self>,
        (target, known_edition): (&Arc<Target>, u64),
        done: impl FnOnce(Result<Connected, Error>) + Send + 'static,
    ) -> io::Result<()> {
        let (connector, target) = (Arc::clone(self), Arc::clone(target));
        std::thread::Builder::new()
            .name("farcache-connect".into())
            .spawn(move || done(connector.connect(&target, known_edition)))
            .map(drop)
    }

    fn connect(&self, target: &Target, known_edition: u64) -> Result<Connected, Error> {
        let began = Instant::now();
        let mut made = match known_edition > 0 && !self.prefers_meta {
            false => self.connect_somehow(target)?,
            // Servers of a map speak in packets: one that is silent is busy, and is waited for.
            true => {
                let stream = self.stream(&target.server, began + self.timeout)?;
                let limit = self.timeout.min(self.answer_timeout);
                self.connect_by_packets(stream, began + limit)?
            }
        };
        if self.follows_map && made.speaks_binary {
            let left = self.timeout.saturating_sub(began.elapsed());
            let limit = left.max(self.patience()).min(self.answer_timeout);
            let deadline = Instant::now() + limit;
            made.map = ask_map(&mut made.stream, known_edition, deadline)?;
        }
        Ok(made)
    }

    /// How long a server may say nothing before it is asked in another way.
    fn patience(&self) -> Duration {
        let part = self.timeout.mul_f64(PATIENCE_PART);
        PATIENCE.min(part).min(self.answer_timeout)
    }

    /// Connects to a server of which it is not known how it is spoken to.
    fn connect_somehow(&self, server: &Target) -> Result<Connected, Error> {
        let deadline = Instant::now() + self.timeout;
        let wants_meta = self.prefers_meta && self.credentials.is_none();
        let is_text = wants_meta && self.transport == Transport::Tcp;
        if is_text || server.speaks_text.load(Ordering::Relaxed) {
            return self.connect_by_text(server, deadline);
        }
        let stream = self.stream(&server.server, deadline)?;
        match self.connect_by_packets(stream, Instant::now() + self.patience()) {
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
        Ok(Connected {
            stream,
            grant,
            speaks_binary: true,
            map: None,
        })
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

    /// Asks for the fabric. Every answer but a grant means that there is none, unless a password is
    /// wanted first.
    fn upgrade(
        &self,
        stream: &mut Stream,
        deadline: Instant,
    ) -> Result<Result<Grant, Box<str>>, Error> {
        let network = self.fabric.network();
        let question = Question {
            opcode: UPGRADE,
            value: &[VERSION, network as u8],
            ..Question::default()
        };
        let answer = ask(stream, question, deadline)?;
        answer.check_let_in()?;
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

/// The map of the server's cluster, where that is another than the one of this edition; none, too,
/// from a server that is in no cluster.
fn ask_map(
    stream: &mut Stream,
    known_edition: u64,
    deadline: Instant,
) -> Result<Option<ClusterMap>, Error> {
    let question = Question {
        opcode: Opcode::ClusterMap as u8,
        cas: known_edition,
        ..Question::default()
    };
    let answer = ask(stream, question, deadline)?;
    let text = answer.is(Status::Success).then(|| answer.text());
    Ok(text.and_then(|text| text.parse().ok()))
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
    let question = Question {
        opcode: Opcode::SaslAuth as u8,
        key: b"PLAIN",
        value: message.as_bytes(),
        ..Question::default()
    };
    let answer = ask(stream, question, deadline)?;
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
