//! Sockets that wait for clients.

use crate::connections::Address;
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A socket on which connections arrive.
pub struct Listener {
    /// The socket, non-blocking.
    pub socket: Socket,
    /// Where it listens.
    pub address: Arc<Address>,
    /// Whether its connections are encrypted.
    pub tls: bool,
}

/// One place to listen, from `-l`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Host name or address; none means every address.
    pub host: Option<String>,
    /// Port of TCP and UDP, where it differs from `-p` and `-U`; 0 is a free one.
    pub port: Option<u16>,
    /// Not encrypted even with `-Z`.
    pub without_tls: bool,
}

impl Place {
    /// Parses one entry of `-l`: `host`, `host:port`, `address`, `[IPv6]:port`, `*`, each with an
    /// optional `notls:` before it.
    ///
    /// # Errors
    /// A message that names what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (rest, without_tls) = match text.strip_prefix("notls:") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (host, port) = split_port(rest)?;
        if host.is_empty() {
            return Err(format!("no host in the address '{text}'"));
        }
        let host = (host != "*").then(|| host.to_owned());
        Ok(Place {
            host,
            port,
            without_tls,
        })
    }

    /// The socket addresses that it means, with `port` where it names none.
    fn addresses(&self, port: u16) -> io::Result<Vec<SocketAddr>> {
        let port = self.port.unwrap_or(port);
        match &self.host {
            Some(host) => Ok((host.as_str(), port).to_socket_addrs()?.collect()),
            None => Ok(every_address(port)),
        }
    }
}

fn every_address(port: u16) -> Vec<SocketAddr> {
    vec![
        SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
        SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
    ]
}

fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let (host, rest) = bracketed
            .split_once(']')
            .ok_or_else(|| format!("no closing bracket in '{text}'"))?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(parse_port(port)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(format!("unexpected '{rest}' after the bracket in '{text}'")),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((text, None)),
        Some((host, port)) => Ok((host, Some(parse_port(port)?))),
        None => Ok((text, None)),
    }
}

/// A port's number; -1 is a free one, as 0 is.
fn parse_port(text: &str) -> Result<u16, String> {
    let number = if text == "-1" { "0" } else { text };
    number
        .parse()
        .map_err(|_| format!("'{text}' is not a port number"))
}

/// Binds stream sockets at all `places` (everywhere if there are none).
///
/// # Errors
/// The first place that cannot be had, named in the message. An address family that the machine
/// lacks is passed over as long as another one works.
pub fn bind_tcp(places: &[Place], port: u16, backlog: i32, tls: bool) -> io::Result<Vec<Listener>> {
    let sockets = bind_places(places, port, &|address| tcp_socket(address, backlog))?;
    sockets
        .into_iter()
        .map(|(socket, without_tls)| {
            let address = Arc::new(Address::Tcp(bound_to(&socket)?));
            Ok(Listener {
                socket,
                address,
                tls: tls && !without_tls,
            })
        })
        .collect()
}

/// Binds datagram sockets at all `places` (everywhere if there are none).
///
/// # Errors
/// As [`bind_tcp`].
pub fn bind_udp(places: &[Place], port: u16) -> io::Result<Vec<Socket>> {
    let sockets = bind_places(places, port, &udp_socket)?;
    Ok(sockets.into_iter().map(|(socket, _)| socket).collect())
}

type Bind<'a> = &'a dyn Fn(SocketAddr) -> io::Result<Socket>;

fn bind_places(places: &[Place], port: u16, bind: Bind<'_>) -> io::Result<Vec<(Socket, bool)>> {
    let everywhere = [Place {
        host: None,
        port: None,
        without_tls: false,
    }];
    let places = if places.is_empty() {
        &everywhere[..]
    } else {
        places
    };
    let mut sockets = Vec::new();
    for place in places {
        let addresses = place.addresses(port).map_err(|error| {
            let host = place.host.as_deref().unwrap_or("*");
            io::Error::new(error.kind(), format!("cannot resolve '{host}': {error}"))
        })?;
        let bound = bind_together(&addresses, bind)?;
        sockets.extend(bound.into_iter().map(|socket| (socket, place.without_tls)));
    }
    Ok(sockets)
}

/// Binds all of `addresses`, which share one port; where that is 0, to one free port.
fn bind_together(addresses: &[SocketAddr], bind: Bind<'_>) -> io::Result<Vec<Socket>> {
    /// A port that is free in one address family may be taken in the other.
    const TRIES: usize = 20;
    let mut last = Err(io::Error::other("the name has no address"));
    for _ in 0..TRIES {
        last = try_bind_together(addresses, bind);
        match &last {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            _ => return last,
        }
        if addresses.iter().all(|address| address.port() != 0) {
            return last;
        }
    }
    last
}

fn try_bind_together(addresses: &[SocketAddr], bind: Bind<'_>) -> io::Result<Vec<Socket>> {
    let mut bound: Vec<Socket> = Vec::new();
    let mut unavailable = None;
    for address in addresses {
        let mut address = *address;
        if let (0, Some(first)) = (address.port(), bound.first()) {
            address.set_port(bound_to(first)?.port());
        }
        match bind(address) {
            Ok(socket) => bound.push(socket),
            Err(error) if is_family_unavailable(&error) => unavailable = Some((address, error)),
            Err(error) => return Err(cannot_listen(address, &error)),
        }
    }
    match unavailable {
        Some((address, error)) if bound.is_empty() => Err(cannot_listen(address, &error)),
        _ => Ok(bound),
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
}

fn is_family_unavailable(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error();
    errno == Some(Errno::AFNOSUPPORT.raw_os_error())
        || errno == Some(Errno::ADDRNOTAVAIL.raw_os_error())
}

fn tcp_socket(address: SocketAddr, backlog: i32) -> io::Result<Socket> {
    let socket = inet_socket(address, Type::STREAM, Protocol::TCP)?;
    // Accepted sockets inherit both.
    socket.set_tcp_nodelay(true)?;
    socket.set_keepalive(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket)
}

fn udp_socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = inet_socket(address, Type::DGRAM, Protocol::UDP)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn inet_socket(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if kind == Type::STREAM {
        socket.set_reuse_address(true)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

/// The address that a socket got.
///
/// # Errors
/// Whatever `getsockname` reports.
pub fn bound_to(socket: &Socket) -> io::Result<SocketAddr> {
    SockRef::from(socket)
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("not an internet socket"))
}

/// Binds a unix socket whose file gets the access rights `mode`; a file left by a server that is
/// gone is replaced. Whoever finds the file can connect, and nobody finds it with other rights.
///
/// # Errors
/// Names the path: it is something other than a socket, or cannot be made.
pub fn bind_unix(path: &Path, mode: u32, backlog: i32) -> io::Result<Listener> {
    let bind = || -> io::Result<Socket> {
        remove_stale_socket(path)?;
        let Some(first) = name_before(path) else {
            return listen_at(path, mode, backlog);
        };
        remove_stale_socket(&first)?;
        let socket = listen_at(&first, mode, backlog)?;
        match std::fs::rename(&first, path) {
            Ok(()) => Ok(socket),
            Err(error) => {
                // Nobody was to find it; that it stays harms nobody.
                let _ = std::fs::remove_file(&first);
                Err(error)
            }
        }
    };
    let socket = bind().map_err(|error| {
        let message = format!("cannot listen on unix socket {}: {error}", path.display());
        io::Error::new(error.kind(), message)
    })?;
    Ok(Listener {
        socket,
        address: Arc::new(Address::Unix(path.to_owned())),
        tls: false,
    })
}

/// What a socket is called until it listens; none where that would be longer than a socket's name
/// may be.
fn name_before(path: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name()?);
    name.push(format!(".{}", std::process::id()));
    let first = path.with_file_name(name);
    SockAddr::unix(&first).ok().map(|_| first)
}

fn listen_at(path: &Path, mode: u32, backlog: i32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    socket.listen(backlog)?;
    Ok(socket)
}

fn remove_stale_socket(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file of that name is no socket",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn place(host: &str, port: Option<u16>) -> Place {
        Place {
            host: Some(host.to_owned()),
            port,
            without_tls: false,
        }
    }

    #[test]
    fn every_form_of_address_is_understood() {
        assert_eq!(Place::parse("localhost"), Ok(place("localhost", None)));
        assert_eq!(
            Place::parse("127.0.0.1:11"),
            Ok(place("127.0.0.1", Some(11)))
        );
        assert_eq!(Place::parse("::1"), Ok(place("::1", None)));
        assert_eq!(Place::parse("[::1]"), Ok(place("::1", None)));
        assert_eq!(Place::parse("[::1]:0"), Ok(place("::1", Some(0))));
        assert_eq!(Place::parse("host:-1"), Ok(place("host", Some(0))));
        let everywhere = Place {
            host: None,
            port: None,
            without_tls: true,
        };
        assert_eq!(Place::parse("notls:*"), Ok(everywhere));
    }

    #[test]
    fn malformed_addresses_are_refused() {
        for text in [
            "",
            "host:",
            "host:http",
            "host:-2",
            "host:65536",
            "[::1",
            "[::1]x",
            ":11211",
        ] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn both_families_get_the_same_free_port() {
        let listeners = bind_tcp(&[], 0, 16, false).expect("a free port");
        let ports: Vec<u16> = listeners
            .iter()
            .map(|listener| bound_to(&listener.socket).expect("bound").port())
            .collect();
        assert!(
            ports.iter().all(|port| *port == ports[0] && *port != 0),
            "{ports:?}"
        );
    }

    #[test]
    fn a_stale_unix_socket_is_replaced_and_another_file_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("socket");
        drop(bind_unix(&path, 0o700, 16).expect("made"));
        let listener = bind_unix(&path, 0o777, 16).expect("replaced");
        let mode = std::fs::metadata(&path)
            .expect("exists")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o777);
        drop(listener);
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "precious").expect("written");
        assert!(bind_unix(&path, 0o700, 16).is_err());
        assert_eq!(std::fs::read(&path).expect("kept"), b"precious");
    }

    #[test]
    fn whoever_finds_a_unix_socket_can_connect() {
        let directory = tempfile::tempdir().expect("a directory");
        let found = |path: &Path| std::fs::symlink_metadata(path).is_ok();
        for number in 0..300 {
            let path = directory.path().join(number.to_string());
            std::thread::scope(|scope| {
                let seeker = scope.spawn(|| {
                    while !found(&path) {
                        std::hint::spin_loop();
                    }
                    UnixStream::connect(&path)
                });
                let listener = bind_unix(&path, 0o700, 16).expect("made");
                let connected = seeker.join().expect("no panic");
                assert!(connected.is_ok(), "{number}: {connected:?}");
                drop(listener);
            });
        }
        // Nothing else is left there.
        let left = std::fs::read_dir(directory.path()).expect("a directory");
        assert_eq!(left.count(), 300);
    }

    #[test]
    fn a_unix_socket_may_have_the_longest_name_that_there_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let folder_bytes = directory.path().as_os_str().len() + 1;
        let longest = (0..200).map(|bytes| directory.path().join("s".repeat(bytes)));
        let longest = longest
            .skip(1)
            .take_while(|path| SockAddr::unix(path).is_ok());
        let path = longest.last().expect("a short folder");
        assert!(path.as_os_str().len() > folder_bytes && name_before(&path).is_none());
        drop(bind_unix(&path, 0o700, 16).expect("made"));
    }
}
